/*
 * kafka_error.c: see kafka_error.h.
 */
#include "kafka/kafka_error.h"

#include <stddef.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct kafka_error table[] = {
    {-1, "UNKNOWN_SERVER_ERROR", KAFKA_ERROR_RETRIES, "look into the broker's log"},
    {0, "NONE", KAFKA_ERROR_NONE, NULL},
    {2, "CORRUPT_MESSAGE", KAFKA_ERROR_RETRIES, NULL},
    {3, "UNKNOWN_TOPIC_OR_PARTITION", KAFKA_ERROR_UNKNOWN,
     "create the topic, or give the user the right to describe it"},
    {5, "LEADER_NOT_AVAILABLE", KAFKA_ERROR_MOVES, NULL},
    {6, "NOT_LEADER_OR_FOLLOWER", KAFKA_ERROR_MOVES, NULL},
    {7, "REQUEST_TIMED_OUT", KAFKA_ERROR_RETRIES, NULL},
    {8, "BROKER_NOT_AVAILABLE", KAFKA_ERROR_MOVES, NULL},
    {9, "REPLICA_NOT_AVAILABLE", KAFKA_ERROR_MOVES, NULL},
    {10, "MESSAGE_TOO_LARGE", KAFKA_ERROR_SPLITS, NULL},
    {13, "NETWORK_EXCEPTION", KAFKA_ERROR_MOVES, NULL},
    {14, "COORDINATOR_LOAD_IN_PROGRESS", KAFKA_ERROR_RETRIES, NULL},
    {15, "COORDINATOR_NOT_AVAILABLE", KAFKA_ERROR_RETRIES, NULL},
    {16, "NOT_COORDINATOR", KAFKA_ERROR_RETRIES, NULL},
    {17, "INVALID_TOPIC_EXCEPTION", KAFKA_ERROR_FAILS, "the broker does not take this topic name"},
    {18, "RECORD_LIST_TOO_LARGE", KAFKA_ERROR_SPLITS, NULL},
    {19, "NOT_ENOUGH_REPLICAS", KAFKA_ERROR_RETRIES, "too few replicas are in sync"},
    {20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", KAFKA_ERROR_RETRIES, "too few replicas are in sync"},
    {21, "INVALID_REQUIRED_ACKS", KAFKA_ERROR_FAILS, "set the option acks to all"},
    {29, "TOPIC_AUTHORIZATION_FAILED", KAFKA_ERROR_DENIED,
     "give the user the right to write to it"},
    {31, "CLUSTER_AUTHORIZATION_FAILED", KAFKA_ERROR_PLAIN, NULL},
    {32, "INVALID_TIMESTAMP", KAFKA_ERROR_RECORDS,
     "the topic's message.timestamp.*.max.ms refuses the time"},
    {33, "UNSUPPORTED_SASL_MECHANISM", KAFKA_ERROR_SASL, "set the option sasl to one it offers"},
    {34, "ILLEGAL_SASL_STATE", KAFKA_ERROR_SASL, NULL},
    {35, "UNSUPPORTED_VERSION", KAFKA_ERROR_VERSION, NULL},
    {42, "INVALID_REQUEST", KAFKA_ERROR_FAILS, NULL},
    {43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", KAFKA_ERROR_FAILS,
     "set compression = 'none' and idempotent = 'false'"},
    {44, "POLICY_VIOLATION", KAFKA_ERROR_RETRIES, "a policy or quota of the broker is in the way"},
    {45, "OUT_OF_ORDER_SEQUENCE_NUMBER", KAFKA_ERROR_SEQUENCE, NULL},
    {46, "DUPLICATE_SEQUENCE_NUMBER", KAFKA_ERROR_WRITTEN, NULL},
    {47, "INVALID_PRODUCER_EPOCH", KAFKA_ERROR_PRODUCER, NULL},
    {49, "INVALID_PRODUCER_ID_MAPPING", KAFKA_ERROR_PRODUCER, NULL},
    {51, "CONCURRENT_TRANSACTIONS", KAFKA_ERROR_RETRIES, NULL},
    {53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", KAFKA_ERROR_PLAIN, NULL},
    {56, "KAFKA_STORAGE_ERROR", KAFKA_ERROR_MOVES, "a disk of the broker fails"},
    {58, "SASL_AUTHENTICATION_FAILED", KAFKA_ERROR_SASL, "check USERNAME and PASSWORD"},
    {59, "UNKNOWN_PRODUCER_ID", KAFKA_ERROR_SEQUENCE, NULL},
    {72, "LISTENER_NOT_FOUND", KAFKA_ERROR_MOVES, "the leader has no listener of this name"},
    {74, "FENCED_LEADER_EPOCH", KAFKA_ERROR_MOVES, NULL},
    {75, "UNKNOWN_LEADER_EPOCH", KAFKA_ERROR_MOVES, NULL},
    {76, "UNSUPPORTED_COMPRESSION_TYPE", KAFKA_ERROR_FAILS, "set compression = 'none'"},
    {87, "INVALID_RECORD", KAFKA_ERROR_RECORDS, "a compacted topic needs the option key"},
    {89, "THROTTLING_QUOTA_EXCEEDED", KAFKA_ERROR_RETRIES, NULL},
    {90, "PRODUCER_FENCED", KAFKA_ERROR_PRODUCER, NULL},
    {100, "UNKNOWN_TOPIC_ID", KAFKA_ERROR_MOVES, NULL},
    {103, "INCONSISTENT_TOPIC_ID", KAFKA_ERROR_MOVES, NULL},
    {129, "REBOOTSTRAP_REQUIRED", KAFKA_ERROR_MOVES, NULL},
};

/* A code that is used nowhere. */
static const struct kafka_error unknown = {INT16_MIN, "UNKNOWN", KAFKA_ERROR_FAILS,
                                           "look the number up for this broker"};

const struct kafka_error *
kafka_error(int16_t code)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        if (table[i].code == code)
            return &table[i];
    }
    return &unknown;
}
