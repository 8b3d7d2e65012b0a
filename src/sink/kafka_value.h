/*
 * kafka_value.h: points made into Kafka's records: key, value, time and headers.
 */
#ifndef SINKD_SINK_KAFKA_VALUE_H
#define SINKD_SINK_KAFKA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "kafka/kafka_record.h"
#include "sink/message.h"
#include "sink/sink_def.h"
#include "sink/template.h"
#include "store/batch.h"

#define KAFKA_VALUE_ID_TEXT 300

struct kafka_value {
    struct message_form form;
    struct template *key; /* NULL: no keys */
    bool headers;
    const char *node;
    struct buf payload, key_text, other_key;
    char time_text[24], id_text[KAFKA_VALUE_ID_TEXT];
    struct kafka_record_header header;
};

/* kafka_value_open(v, def, node, info): ERR_CONFIG, ERR_NOMEM; the caller frees it after an error
 * too. */
enum err kafka_value_open(struct kafka_value *v, const struct sink_def *def, const char *node,
                          struct errinfo *info) MUST_USE;
void kafka_value_free(struct kafka_value *v);

/*
 * kafka_value_make(v, points, members, count, max_bytes, record, used):
 * The record that begins with the first of ${count} points (indexes into ${points}); with
 * batch_mode lines and json_array those behind it with the same key are joined, up to ${max_bytes}
 * of payload. ${used} is how many are in it. ${record} is valid until the next call. Errors:
 * ERR_BAD (the first point is no stored line), ERR_NOMEM.
 */
enum err kafka_value_make(struct kafka_value *v, const struct batch *points,
                          const uint32_t *members, size_t count, size_t max_bytes,
                          struct kafka_record *record, size_t *used) MUST_USE;

#endif
