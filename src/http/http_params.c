/*
 * http_params.c: decoded parameters, kept as records: two lengths, the name, the value.
 */
#include "http/http_params.h"

#include "base/text.h"
#include "base/wire.h"

/* More than any query string decodes to; a form may come near it. */
#define RECORDS_MAX (16u << 20)
#define RECORD_HEAD 8

void
http_params_init(struct http_params *p)
{
    buf_init(&p->records, RECORDS_MAX);
}

void
http_params_free(struct http_params *p)
{
    buf_wipe(&p->records);
}

/* add_decoded(out, name, value): ERR_BAD if one of them cannot be decoded; the caller takes it
 * back. */
static enum err
add_decoded(struct buf *out, struct slice name, struct slice value)
{
    static const uint8_t nothing[RECORD_HEAD];
    size_t base = buf_len(out), middle;
    uint8_t *head;
    enum err err;

    err = buf_add(out, slice_make(nothing, RECORD_HEAD));
    if (err == ERR_OK)
        err = text_unpercent(out, name, true);
    if (err != ERR_OK)
        return err;
    middle = buf_len(out);
    err = text_unpercent(out, value, true);
    if (err != ERR_OK)
        return err;
    head = out->data + out->head + base;
    store_le32(head, (uint32_t)(middle - base - RECORD_HEAD));
    store_le32(head + 4, (uint32_t)(buf_len(out) - middle));
    return ERR_OK;
}

enum err
http_params_add(struct http_params *p, struct slice encoded)
{
    struct slice pair;
    size_t before, equals;
    enum err err;

    while (slice_split(&encoded, '&', &pair)) {
        if (pair.n == 0)
            continue;
        before = buf_len(&p->records);
        equals = slice_find(pair, '=');
        err = add_decoded(&p->records, slice_to(pair, equals), slice_from(pair, equals + 1));
        if (err != ERR_OK)
            buf_cut(&p->records, before);
        if (err != ERR_OK && err != ERR_BAD)
            return err;
    }
    return ERR_OK;
}

bool
http_params_next(const struct http_params *p, size_t *at, struct slice *name, struct slice *value)
{
    struct slice rest = slice_from(buf_peek(&p->records), *at);
    size_t name_bytes, value_bytes;

    if (rest.n < RECORD_HEAD)
        return false;
    name_bytes = load_le32(rest.p);
    value_bytes = load_le32(rest.p + 4);
    *name = slice_make(rest.p + RECORD_HEAD, name_bytes);
    *value = slice_make(rest.p + RECORD_HEAD + name_bytes, value_bytes);
    *at += RECORD_HEAD + name_bytes + value_bytes;
    return true;
}

bool
http_params_get(const struct http_params *p, const char *name, struct slice *value)
{
    struct slice wanted = slice_of(name), n;
    size_t at = 0;

    while (http_params_next(p, &at, &n, value))
        if (slice_eq(n, wanted))
            return true;
    *value = (struct slice){NULL, 0};
    return false;
}
