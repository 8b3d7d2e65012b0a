/*
 * server_budget.h: how many bytes of bodies and of chunks that wait may be in memory together.
 * One body alone is always admitted, so that a large one gets through in the end. Pure.
 */
#ifndef SINKD_DAEMON_SERVER_BUDGET_H
#define SINKD_DAEMON_SERVER_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct server_budget {
    size_t used, max; /* read-only for others */
};

void server_budget_init(struct server_budget *b, size_t max);

/* server_budget_admits(b, n): whether ${n} bytes more would fit, or nothing else is there. */
bool server_budget_admits(const struct server_budget *b, size_t n);

/* server_budget_take(b, have, more): count ${more} bytes of one that has ${have} counted already,
 * if they fit or it is alone. server_budget_hold(b, n): count them in any case. */
bool server_budget_take(struct server_budget *b, size_t have, size_t more);
void server_budget_hold(struct server_budget *b, size_t n);
void server_budget_release(struct server_budget *b, size_t n);

#endif
