/*
 * mem.h: the one door to the allocator.
 *
 * All of our code allocates here, so that a test can make the n-th allocation fail and count what
 * is left. mem_free(NULL) does nothing.
 */
#ifndef SINKD_BASE_MEM_H
#define SINKD_BASE_MEM_H

#include <stddef.h>

#include "base/attr.h"
#include "base/slice.h"

void *mem_alloc(size_t n) MUST_USE;           /* uninitialised; NULL when there is none */
void *mem_zalloc(size_t n) MUST_USE;          /* zeroed */
void *mem_resize(void *p, size_t n) MUST_USE; /* as realloc; on NULL ${p} is still valid */
char *mem_text(struct slice s) MUST_USE;      /* a NUL-terminated copy */

/* mem_array(count, size): zeroed; NULL as well when count * size overflows. */
void *mem_array(size_t count, size_t size) MUST_USE;

void mem_free(void *p);

/* mem_wipe(p, n): overwrite with zeros in a way that no compiler drops. */
void mem_wipe(void *p, size_t n);

/*
 * For tests. mem_fail_at(n): the n-th allocation from now on (1 is the next one) fails, the ones
 * after it work again; 0 switches it off. mem_live(): allocations not freed yet.
 */
void mem_fail_at(size_t n);
size_t mem_live(void);

#endif
