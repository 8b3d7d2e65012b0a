/*
 * sink_contract.h: what every sink type must keep, as a group of tests over a peer of its own.
 *
 * A type's test program fills in one struct, with a peer that it can tell what to do, and runs
 * sink_contract_run(). docs/adding-a-sink.md says what the checks are for.
 */
#ifndef SINKD_SUPPORT_SINK_CONTRACT_H
#define SINKD_SUPPORT_SINK_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink/sink_def.h"

/* What the peer does with what comes. */
enum contract_mood {
    CONTRACT_CONFIRMS, /* takes it and says so */
    CONTRACT_BREAKS,   /* ends the connection without a word */
    CONTRACT_SILENT,   /* takes no notice */
    CONTRACT_ABSENT    /* nobody is there: connections are refused */
};

struct sink_contract {
    const char *name;
    void *peer;
    bool connects; /* it has a connection that can be refused */

    /* Of each test: begin makes a peer that confirms, end takes it away. */
    void (*begin)(void *peer);
    void (*end)(void *peer);

    /* define(peer, def): a checked definition (sink_drive_def) of a sink that goes to the peer,
     * with a `timeout` of 300 ms and requests of about 1000 bytes, where it has them. */
    void (*define)(void *peer, struct sink_def *def);

    /* set_mood(peer, mood, after): from the request of that number on (0: the next one), counted
     * from now. What came before it is confirmed. */
    void (*set_mood)(void *peer, enum contract_mood mood, unsigned after);

    /* taken(peer, value): how often the peer confirmed the point with the field "v=VALUEi", in
     * whatever form. It may wait a moment for what is under way. */
    unsigned (*taken)(void *peer, uint64_t value);

    int64_t silence_ms; /* longest that deliver waits for a silent peer; 0: not to be tested */
};

/* sink_contract_run(c): run all checks as a group of cmocka tests; the number that failed. */
int sink_contract_run(const struct sink_contract *c);

#endif
