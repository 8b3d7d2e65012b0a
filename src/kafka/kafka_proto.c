/*
 * kafka_proto.c: see kafka_proto.h.
 */
#include "kafka/kafka_proto.h"

#include <assert.h>

static const struct api {
    enum kafka_proto_api key;
    const char *name;
    int16_t min, max; /* of what we write and read */
} apis[KAFKA_PROTO_APIS] = {
    {KAFKA_PROTO_PRODUCE, "Produce", 3, 8},
    {KAFKA_PROTO_METADATA, "Metadata", 1, 8},
    {KAFKA_PROTO_SASL_HANDSHAKE, "SaslHandshake", 1, 1},
    {KAFKA_PROTO_API_VERSIONS, "ApiVersions", 0, 0},
    {KAFKA_PROTO_INIT_PRODUCER_ID, "InitProducerId", 0, 1},
    {KAFKA_PROTO_SASL_AUTHENTICATE, "SaslAuthenticate", 0, 1},
};

static size_t
row(enum kafka_proto_api api)
{
    size_t i = 0;

    while (apis[i].key != api) {
        i++;
        assert(i < KAFKA_PROTO_APIS);
    }
    return i;
}

const char *
kafka_proto_api_name(enum kafka_proto_api api)
{
    return apis[row(api)].name;
}

void
kafka_proto_versions_none(struct kafka_proto_versions *v)
{
    for (size_t i = 0; i < KAFKA_PROTO_APIS; i++)
        v->use[i] = -1;
}

void
kafka_proto_versions_offer(struct kafka_proto_versions *v, int16_t key, int16_t min, int16_t max)
{
    for (size_t i = 0; i < KAFKA_PROTO_APIS; i++) {
        if ((int16_t)apis[i].key == key && min <= apis[i].max && max >= apis[i].min)
            v->use[i] = max < apis[i].max ? max : apis[i].max;
    }
}

int16_t
kafka_proto_version(const struct kafka_proto_versions *v, enum kafka_proto_api api)
{
    return v->use[row(api)];
}

/* ---- writing ---- */

size_t
kafka_proto_begin(struct wr *w, enum kafka_proto_api api, int16_t version, int32_t correlation,
                  struct slice client_id)
{
    size_t hole = wr_hole(w, 4);

    wr_be16(w, (uint16_t)api);
    wr_be16(w, (uint16_t)version);
    wr_be32(w, (uint32_t)correlation);
    kafka_proto_put_nullable(w, client_id);
    return hole;
}

void
kafka_proto_end(struct wr *w, size_t hole, size_t more)
{
    size_t size = wr_since(w, hole);

    if (w->err != ERR_OK)
        return;
    if (size - 4 > INT32_MAX || more > INT32_MAX - (size - 4))
        wr_fail(w, ERR_RANGE);
    else
        wr_fill_be32(w, hole, (uint32_t)(size - 4 + more));
}

void
kafka_proto_put_string(struct wr *w, struct slice s)
{
    if (s.n > INT16_MAX)
        wr_fail(w, ERR_RANGE);
    wr_be16(w, (uint16_t)s.n);
    wr_bytes(w, s);
}

void
kafka_proto_put_nullable(struct wr *w, struct slice s)
{
    if (s.p == NULL)
        wr_be16(w, UINT16_MAX);
    else
        kafka_proto_put_string(w, s);
}

void
kafka_proto_put_bytes(struct wr *w, struct slice s)
{
    if (s.n > INT32_MAX)
        wr_fail(w, ERR_RANGE);
    wr_be32(w, (uint32_t)s.n);
    wr_bytes(w, s);
}

/* ---- reading ---- */

struct slice
kafka_proto_nullable(struct rd *r)
{
    uint16_t n = rd_be16(r);

    if (n == UINT16_MAX)
        return slice_make(NULL, 0);
    if (n > INT16_MAX)
        rd_fail(r, ERR_BAD);
    return rd_bytes(r, n);
}

struct slice
kafka_proto_string(struct rd *r)
{
    struct slice s = kafka_proto_nullable(r);

    if (s.p == NULL)
        rd_fail(r, ERR_BAD);
    return s;
}

struct slice
kafka_proto_bytes(struct rd *r)
{
    uint32_t n = rd_be32(r);

    if (n == UINT32_MAX)
        return slice_make(NULL, 0);
    if (n > INT32_MAX)
        rd_fail(r, ERR_BAD);
    return rd_bytes(r, n);
}

uint32_t
kafka_proto_array(struct rd *r, size_t least)
{
    uint32_t count = rd_be32(r);

    if (count == UINT32_MAX)
        return 0;
    if (count > INT32_MAX)
        rd_fail(r, ERR_BAD);
    else if (count > rd_left(r) / least)
        rd_fail(r, ERR_SHORT);
    return r->err == ERR_OK ? count : 0;
}

enum err
kafka_proto_frame(struct slice in, struct slice *frame, size_t *used)
{
    uint32_t size;

    if (in.n < 4)
        return ERR_SHORT;
    size = load_be32(in.p);
    if (size > INT32_MAX || size < 4)
        return ERR_BAD;
    if (size > KAFKA_PROTO_FRAME_MAX)
        return ERR_RANGE;
    if (in.n - 4 < size)
        return ERR_SHORT;
    *frame = slice_make(in.p + 4, size);
    *used = (size_t)size + 4;
    return ERR_OK;
}

size_t
kafka_proto_varint_size(int64_t v)
{
    uint64_t left = kafka_proto_zigzag(v);
    size_t n = 1;

    for (; left >= 0x80; left >>= 7)
        n++;
    return n;
}

int64_t
kafka_proto_varint(struct rd *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = rd_u8(r);

        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return (v & 1) == 0 ? (int64_t)(v >> 1) : -(int64_t)(v >> 1) - 1;
    }
    rd_fail(r, ERR_BAD);
    return 0;
}
