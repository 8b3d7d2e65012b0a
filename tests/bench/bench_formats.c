/*
 * bench_formats.c: how fast stored points are written in each form, beside a copy of the same bytes
 * and, where its headers are there, beside msgpack-c, which is given the same points from the same
 * lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<msgpack.h>)
#define HAVE_MSGPACK_C 1
#endif
#endif
#ifdef HAVE_MSGPACK_C
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wcast-align"
#pragma GCC diagnostic ignored "-Wundef"
#include <msgpack.h>
#pragma GCC diagnostic pop
#endif

#include "base/clock.h"
#include "point/point.h"
#include "point/point_json.h"
#include "point/point_msgpack.h"

#define POINTS 60000
#define ROUNDS 9
#define ROOM ((size_t)64 << 20)
#define TIME INT64_C(1700000000000000000)

static const char *const samples[] = {
    "cpu,cpu=cpu0,host=gateway-17 usage_guest=0,usage_idle=91.33266533065974,usage_iowait=0.1,"
    "usage_system=2.505010020040080,usage_user=6.0621242484969934",
    "mem,host=gateway-17 active=1329098752i,available=2945892352i,available_percent=71.19,"
    "buffered=113242112i,cached=2159030272i,free=1013448704i,total=4137930752i",
    "disk,device=mmcblk0p2,fstype=ext4,host=gateway-17,mode=rw,path=/ free=11863891968i,"
    "inodes_free=1737391i,total=30885240832i,used_percent=59.77",
    "net,host=gateway-17,interface=eth0 bytes_recv=36112212873i,bytes_sent=1812342342i,"
    "drop_in=0i,drop_out=0i,err_in=0i,packets_recv=41231233i",
    "modbus,host=gateway-17,name=EAP,slave_id=9 state=\"running\",alarm=false,power=1732.5",
    "temp,sensor=coretemp_core0_input,host=gateway-17 temp=51",
};

/* Called through a pointer that may change: no compiler leaves the copy out. */
static void *(*volatile copy_bytes)(void *, const void *, size_t) = memcpy;

typedef enum err writer(struct buf *out, struct slice line, int64_t time_ns);

static enum err
as_line(struct buf *out, struct slice line, int64_t time_ns)
{
    enum err err = point_put_line(out, line, time_ns, PRECISION_NS);

    return err == ERR_OK ? buf_add_byte(out, '\n') : err;
}

static enum err
as_json(struct buf *out, struct slice line, int64_t time_ns)
{
    return point_json_put(out, line, time_ns, PRECISION_NS);
}

static enum err
as_msgpack(struct buf *out, struct slice line, int64_t time_ns)
{
    return point_msgpack_put(out, line, time_ns, PRECISION_NS);
}

#ifdef HAVE_MSGPACK_C
static int
append(void *data, const char *p, size_t n)
{
    return buf_add(data, slice_make(p, n)) == ERR_OK ? 0 : -1;
}

static void
pack_text(msgpack_packer *pk, struct slice s)
{
    msgpack_pack_str(pk, s.n);
    msgpack_pack_str_body(pk, s.p, s.n);
}

static void
pack_field(msgpack_packer *pk, const struct point_field *field)
{
    static const struct slice names[] = {SLICE_INIT("Float"), SLICE_INIT("Integer"),
                                         SLICE_INIT("UInteger"), SLICE_INIT("String"),
                                         SLICE_INIT("Boolean")};

    pack_text(pk, field->key);
    msgpack_pack_map(pk, 1);
    pack_text(pk, names[field->type]);
    switch (field->type) {
    case POINT_FLOAT:
        msgpack_pack_double(pk, field->value.number);
        break;
    case POINT_INTEGER:
        msgpack_pack_int64(pk, field->value.integer);
        break;
    case POINT_UNSIGNED:
        msgpack_pack_uint64(pk, field->value.whole);
        break;
    case POINT_TEXT:
        pack_text(pk, field->text);
        break;
    case POINT_BOOLEAN:
        if (field->value.truth)
            msgpack_pack_true(pk);
        else
            msgpack_pack_false(pk);
        break;
    }
}

/* Without a look at escapes and repeated names, which the samples do not have. */
static enum err
by_msgpack_c(struct buf *out, struct slice line, int64_t time_ns)
{
    struct point_field field;
    struct point_tag tag;
    struct slice rest;
    struct point p;
    msgpack_packer pk;
    size_t tags = 0, fields = 0;

    if (point_open(&p, line) != ERR_OK)
        return ERR_BAD;
    for (rest = p.tags; point_next_tag(&rest, &tag);)
        tags++;
    for (rest = p.fields; point_cut_field(&rest, &field.key, &field.text);)
        fields++;
    msgpack_packer_init(&pk, out, append);
    msgpack_pack_map(&pk, 4);
    pack_text(&pk, SLICE("measurement"));
    pack_text(&pk, p.measurement);
    pack_text(&pk, SLICE("tags"));
    msgpack_pack_map(&pk, tags);
    while (point_next_tag(&p.tags, &tag)) {
        pack_text(&pk, tag.key);
        pack_text(&pk, tag.value);
    }
    pack_text(&pk, SLICE("fields"));
    msgpack_pack_map(&pk, fields);
    while (point_next_field(&p.fields, &field))
        pack_field(&pk, &field);
    pack_text(&pk, SLICE("timestamp"));
    msgpack_pack_int64(&pk, time_ns);
    return ERR_OK;
}
#endif

static int64_t
once(writer *write, struct buf *out)
{
    int64_t start = clock_wall_ns(&clock_system);

    buf_clear(out);
    for (size_t i = 0; i < POINTS; i++)
        if (write(out, slice_of(samples[i % 6]), TIME + (int64_t)i) != ERR_OK)
            abort();
    return clock_wall_ns(&clock_system) - start;
}

static int64_t
copied(const struct buf *out, uint8_t *copy)
{
    int64_t start = clock_wall_ns(&clock_system);

    copy_bytes(copy, buf_peek(out).p, buf_len(out));
    return clock_wall_ns(&clock_system) - start;
}

/* The best of a few rounds, in turn with the copy. */
static void
measure(const char *name, writer *write, struct buf *out, uint8_t *copy)
{
    int64_t best = INT64_MAX, best_copy = INT64_MAX;
    double mb, seconds;

    for (int i = 0; i < ROUNDS; i++) {
        int64_t ns = once(write, out), ns_copy = copied(out, copy);

        best = ns < best ? ns : best;
        best_copy = ns_copy < best_copy ? ns_copy : best_copy;
    }
    mb = (double)buf_len(out) / 1e6;
    seconds = (double)best / 1e9;
    printf("%-16s %6.0f MB/s  %9.0f points/s  %5.0f ns a point  %5.3f of memcpy\n", name,
           mb / seconds, POINTS / seconds, (double)best / POINTS, (double)best_copy / (double)best);
}

int
main(void)
{
    uint8_t *copy = malloc(ROOM);
    struct buf out;

    buf_init(&out, ROOM);
    if (copy == NULL || buf_reserve(&out, ROOM) == NULL)
        return 1;
    measure("line protocol", as_line, &out, copy);
    measure("JSON", as_json, &out, copy);
    measure("MessagePack", as_msgpack, &out, copy);
#ifdef HAVE_MSGPACK_C
    measure("by msgpack-c", by_msgpack_c, &out, copy);
#else
    printf("by msgpack-c     its headers are not installed (Debian: libmsgpack-dev)\n");
#endif
    buf_free(&out);
    free(copy);
    return 0;
}
