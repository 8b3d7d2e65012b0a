/*
 * kafka_error.h: the error codes of Kafka's protocol that a producer meets, and what each asks for.
 *
 * Pure. What is not in the table has the action KAFKA_ERROR_FAILS: the batch stays, the number is
 * shown. Source: the protocol's table of error codes (Kafka 4.3).
 */
#ifndef SINKD_KAFKA_KAFKA_ERROR_H
#define SINKD_KAFKA_KAFKA_ERROR_H

#include <stdint.h>

enum kafka_error_action {
    KAFKA_ERROR_NONE,     /* no error */
    KAFKA_ERROR_WRITTEN,  /* the broker has it already: as good as no error */
    KAFKA_ERROR_RETRIES,  /* the same again, later */
    KAFKA_ERROR_MOVES,    /* ask for metadata, then again */
    KAFKA_ERROR_UNKNOWN,  /* the topic is not there: as MOVES, but it may never come */
    KAFKA_ERROR_SPLITS,   /* too large: fewer records at a time */
    KAFKA_ERROR_RECORDS,  /* some of the records are refused for good */
    KAFKA_ERROR_SEQUENCE, /* sequence numbers start again under the next epoch */
    KAFKA_ERROR_PRODUCER, /* a new producer id is needed */
    KAFKA_ERROR_PLAIN,    /* not as an idempotent producer */
    KAFKA_ERROR_DENIED,   /* rights are missing */
    KAFKA_ERROR_SASL,     /* credentials or their mechanism refused */
    KAFKA_ERROR_VERSION,  /* connect again and ask for versions */
    KAFKA_ERROR_FAILS     /* an operator has to look at it */
};

struct kafka_error {
    int16_t code;
    const char *name; /* as the protocol spells it */
    enum kafka_error_action action;
    const char *hint; /* what an operator can do; NULL: nothing to say */
};

/* kafka_error(code): its row; for an unknown code one named "UNKNOWN" whose code is not ${code}. */
const struct kafka_error *kafka_error(int16_t code);

#endif
