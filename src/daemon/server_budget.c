/*
 * server_budget.c: a counter with a limit.
 */
#include "daemon/server_budget.h"

#include <assert.h>

void
server_budget_init(struct server_budget *b, size_t max)
{
    b->used = 0;
    b->max = max;
}

static bool
fits(const struct server_budget *b, size_t n)
{
    return b->used <= b->max && n <= b->max - b->used;
}

bool
server_budget_admits(const struct server_budget *b, size_t n)
{
    return b->used == 0 || fits(b, n);
}

bool
server_budget_take(struct server_budget *b, size_t have, size_t more)
{
    if (b->used > have && !fits(b, more))
        return false;
    b->used += more;
    return true;
}

void
server_budget_hold(struct server_budget *b, size_t n)
{
    b->used += n;
}

void
server_budget_release(struct server_budget *b, size_t n)
{
    assert(n <= b->used);
    b->used -= n;
}
