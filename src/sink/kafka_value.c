/*
 * kafka_value.c: see kafka_value.h.
 */
#include "sink/kafka_value.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "point/precision.h"

#define PAYLOAD_MAX ((size_t)256 << 20)
#define KEY_MAX ((size_t)1 << 20)

enum err
kafka_value_open(struct kafka_value *v, const struct sink_def *def, const char *node,
                 struct errinfo *info)
{
    struct slice key = sink_def_text(def, "key");

    *v = (struct kafka_value){
        .form = message_form_of(def), .headers = sink_def_bool(def, "headers"), .node = node};
    buf_init(&v->payload, PAYLOAD_MAX);
    buf_init(&v->key_text, KEY_MAX);
    buf_init(&v->other_key, KEY_MAX);
    return key.n == 0 ? ERR_OK : template_open(&v->key, key, TEMPLATE_AS_IS, info);
}

void
kafka_value_free(struct kafka_value *v)
{
    template_close(v->key);
    buf_free(&v->payload);
    buf_free(&v->key_text);
    buf_free(&v->other_key);
}

static int64_t
floor_ms(int64_t ns)
{
    return precision_from_ns(ns, PRECISION_MS);
}

/* The line as it lies in the round, and the time behind it: no copy but the one into the batch. */
static void
put_line(struct kafka_value *v, const struct batch_point *point, struct kafka_record *record)
{
    v->time_text[0] = ' ';
    record->value[0] = point->line;
    record->value[1] = slice_make(
        v->time_text, 1 + num_put_i64((uint8_t *)v->time_text + 1,
                                      precision_from_ns(point->timestamp_ns, v->form.precision)));
}

static enum err
same_key(struct kafka_value *v, const struct batch_point *point, bool *same)
{
    enum err err = ERR_OK;

    *same = true;
    if (v->key == NULL)
        return ERR_OK;
    buf_clear(&v->other_key);
    err = template_put(v->key, point, &v->other_key);
    *same = err == ERR_OK && slice_eq(buf_peek(&v->key_text), buf_peek(&v->other_key));
    return err;
}

/* Join points until one has another key or the payload would be too long. */
static enum err
join(struct kafka_value *v, const struct batch *points, const uint32_t *members, size_t count,
     size_t max_bytes, size_t *used)
{
    bool array = v->form.mode == MESSAGE_JSON_ARRAY, same;
    enum err err = array ? buf_add_byte(&v->payload, '[') : ERR_OK;

    for (*used = 0; err == ERR_OK && *used < count; (*used)++) {
        struct batch_point point = batch_point(points, members[*used]);
        size_t before = buf_len(&v->payload);

        err = *used == 0 ? ERR_OK : same_key(v, &point, &same);
        if (err != ERR_OK || (*used > 0 && !same))
            break;
        if (*used > 0)
            err = buf_add_byte(&v->payload, array ? ',' : '\n');
        if (err == ERR_OK)
            err = message_put_point(&v->form, &point, &v->payload);
        if (*used > 0 && (err == ERR_BAD || buf_len(&v->payload) + array > max_bytes)) {
            buf_cut(&v->payload, before);
            err = ERR_OK;
            break;
        }
    }
    return err == ERR_OK && array ? buf_add_byte(&v->payload, ']') : err;
}

static enum err
put_value(struct kafka_value *v, const struct batch *points, const uint32_t *members, size_t count,
          size_t max_bytes, struct kafka_record *record, size_t *used)
{
    struct batch_point first = batch_point(points, members[0]);
    enum err err;

    *used = 1;
    if (v->form.mode == MESSAGE_INDIVIDUAL && v->form.format == SINK_LINE_PROTOCOL) {
        put_line(v, &first, record);
        return ERR_OK;
    }
    buf_clear(&v->payload);
    if (v->form.mode == MESSAGE_INDIVIDUAL)
        err = message_put_point(&v->form, &first, &v->payload);
    else
        err = join(v, points, members, count, max_bytes, used);
    record->value[0] = buf_peek(&v->payload);
    return err;
}

/* NODE:SEQ, so that a consumer can tell a point that came twice. */
static void
put_header(struct kafka_value *v, uint64_t seq, struct kafka_record *record)
{
    int n = snprintf(v->id_text, sizeof(v->id_text), "%.*s:%" PRIu64, KAFKA_VALUE_ID_TEXT - 24,
                     v->node, seq);

    v->header = (struct kafka_record_header){SLICE("sinkd-id"), slice_make(v->id_text, (size_t)n)};
    record->headers = &v->header;
    record->header_count = 1;
}

enum err
kafka_value_make(struct kafka_value *v, const struct batch *points, const uint32_t *members,
                 size_t count, size_t max_bytes, struct kafka_record *record, size_t *used)
{
    struct batch_point first = batch_point(points, members[0]);

    *record = (struct kafka_record){.timestamp_ms = floor_ms(first.timestamp_ns)};
    if (v->key != NULL) {
        buf_clear(&v->key_text);
        if (template_put(v->key, &first, &v->key_text) != ERR_OK)
            return ERR_NOMEM;
        record->key = buf_peek(&v->key_text);
    }
    if (v->headers)
        put_header(v, first.seq, record);
    return put_value(v, points, members, count, max_bytes, record, used);
}
