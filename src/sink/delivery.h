/*
 * delivery.h: one pass of a round through a sink type: in pieces, halving what is refused.
 *
 * A request that is too large is offered again in halves, and the smaller size is remembered. A
 * request with something in it that is refused for good is halved until the bad points stand alone
 * and everything else is delivered. A whole request's fault is never blamed on points: a bisection
 * that delivers nothing, and a lone refused point before anything was ever delivered, are the
 * destination's fault (DELIVERY_TARGET), unless its answer speaks of points.
 */
#ifndef SINKD_SINK_DELIVERY_H
#define SINKD_SINK_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "sink/sink.h"

/* What a definition has learned of its destination. */
struct delivery_memory {
    bool delivered_any;    /* something was delivered under this definition */
    size_t learned_points; /* most points a request may have; 0: no limit learned */
};

/*
 * delivery_pass(s, round, memory, outcome, info):
 * Offer every open point once. On return each point has its verdict and ${outcome} is DONE, or the
 * pass ended early and it says why; then what is open has to be offered again. With DONE ${info}
 * has the words of the last refusal, and no text without one.
 * Errors: whatever ended it: ERR_OK exactly with DONE.
 */
enum err delivery_pass(struct sink *s, struct round *round, struct delivery_memory *memory,
                       struct outcome *outcome, struct errinfo *info) MUST_USE;

#endif
