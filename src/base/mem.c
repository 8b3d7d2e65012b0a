/*
 * mem.c: malloc with a counter of what is live and a switch that makes one allocation fail.
 *
 * The counters are kept in every build, so that what is tested is what runs: one uncontended lock
 * is a small part of an allocation, and hot paths do not allocate.
 */
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the two counters */
static size_t live;
static size_t fail_in; /* 1: the next allocation fails; 0: none does */

/* Counts an allocation about to be made; false when a test wants this one to fail. */
static bool
admit(size_t added)
{
    bool ok;

    (void)pthread_mutex_lock(&lock);
    ok = fail_in != 1;
    if (fail_in > 0)
        fail_in--;
    if (ok)
        live += added;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}

static void
forget(void)
{
    (void)pthread_mutex_lock(&lock);
    assert(live > 0);
    live--;
    (void)pthread_mutex_unlock(&lock);
}

void *
mem_alloc(size_t n)
{
    if (!admit(1))
        return NULL;

    void *p = malloc(n == 0 ? 1 : n); /* NULL means no memory and nothing else */
    if (p == NULL)
        forget();
    return p;
}

void *
mem_zalloc(size_t n)
{
    return mem_array(n, 1);
}

void *
mem_resize(void *p, size_t n)
{
    if (p == NULL)
        return mem_alloc(n);
    return admit(0) ? realloc(p, n == 0 ? 1 : n) : NULL;
}

void *
mem_array(size_t count, size_t size)
{
    if (count == 0 || size == 0)
        count = size = 1;
    if (count > SIZE_MAX / size || !admit(1))
        return NULL;

    void *p = calloc(count, size);
    if (p == NULL)
        forget();
    return p;
}

char *
mem_text(struct slice s)
{
    if (s.n == SIZE_MAX)
        return NULL;

    char *text = mem_alloc(s.n + 1);
    if (text != NULL)
        slice_copy_text(s, text, s.n + 1);
    return text;
}

void
mem_free(void *p)
{
    if (p == NULL)
        return;
    forget();
    free(p);
}

/* Called through a pointer that the compiler must read again: it cannot know that this is memset,
 * so it cannot drop a store to memory that is freed next. */
static void *(*const volatile wipe)(void *, int, size_t) = memset;

void
mem_wipe(void *p, size_t n)
{
    if (n > 0)
        (void)wipe(p, 0, n);
}

void
mem_fail_at(size_t n)
{
    (void)pthread_mutex_lock(&lock);
    fail_in = n;
    (void)pthread_mutex_unlock(&lock);
}

size_t
mem_live(void)
{
    (void)pthread_mutex_lock(&lock);
    size_t n = live;
    (void)pthread_mutex_unlock(&lock);
    return n;
}
