/*
 * bench_lineproto.c: how fast lines are parsed and built into chunks, beside a copy of the bytes.
 *
 *   bench_lineproto [FILE]   with the lines of FILE, else with lines like those of a host's metrics
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "point/lineproto.h"
#include "store/chunk.h"

#define BODY_BYTES (8u << 20)
#define ROUNDS 20
#define LIMIT 4080

static const char *const samples[] = {
    "cpu,cpu=cpu0,host=gateway-17 usage_guest=0,usage_idle=91.33266533065974,usage_iowait=0.1,"
    "usage_system=2.505010020040080,usage_user=6.0621242484969934 1700000000000000000\n",
    "mem,host=gateway-17 active=1329098752i,available=2945892352i,available_percent=71.19,"
    "buffered=113242112i,cached=2159030272i,free=1013448704i,total=4137930752i "
    "1700000000000000000\n",
    "disk,device=mmcblk0p2,fstype=ext4,host=gateway-17,mode=rw,path=/ free=11863891968i,"
    "inodes_free=1737391i,total=30885240832i,used_percent=59.77 1700000000000000000\n",
    "net,host=gateway-17,interface=eth0 bytes_recv=36112212873i,bytes_sent=1812342342i,"
    "drop_in=0i,drop_out=0i,err_in=0i,packets_recv=41231233i 1700000000000000000\n",
    "modbus,host=gateway-17,name=EAP,slave_id=9 state=\"running\",alarm=false,power=1732.5 "
    "1700000000000000000\n",
    "temp,sensor=coretemp_core0_input,host=gateway-17 temp=51 1700000000000000000\n",
};

/* Called through a pointer that may change: no compiler leaves the copy out. */
static void *(*volatile copy_bytes)(void *, const void *, size_t) = memcpy;

struct body {
    uint8_t *bytes;
    size_t n;
};

static struct body
make_body(const char *path)
{
    struct body body = {malloc(BODY_BYTES + (1 << 16)), 0};
    static char text[1 << 20];
    size_t n = 0;

    if (body.bytes == NULL)
        abort();
    if (path != NULL) {
        FILE *file = fopen(path, "rb");
        if (file == NULL) {
            perror(path);
            exit(1);
        }
        n = fread(text, 1, sizeof(text), file);
        fclose(file);
    }
    for (size_t i = 0; body.n < BODY_BYTES - (1 << 20); i++) {
        const char *from = path != NULL ? text : samples[i % 6];
        size_t size = path != NULL ? n : strlen(from);
        memcpy(body.bytes + body.n, from, size);
        body.n += size;
    }
    return body;
}

static void
report(const char *what, struct body body, uint64_t points, int64_t ns)
{
    double mb = (double)body.n * ROUNDS / 1e6, seconds = (double)ns / 1e9;

    printf("%-16s %8.0f MB/s", what, mb / seconds);
    if (points > 0)
        printf("  %6.1f ns a point", (double)ns / (double)points);
    printf("\n");
}

static uint64_t
parse(struct body body, struct chunk_builder *builder)
{
    struct lineproto lp;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    uint64_t points = 0;

    lineproto_init(&lp, slice_make(body.bytes, body.n), PRECISION_NS, 0);
    while ((event = lineproto_next(&lp, &point, &bad)) != LINEPROTO_END) {
        if (event == LINEPROTO_BAD)
            continue;
        points++;
        if (builder != NULL && chunk_builder_add(builder, &point) != ERR_OK)
            abort();
    }
    return points;
}

static uint64_t
read_back(struct slice chunks)
{
    static struct chunk chunk;
    struct slice value;
    uint64_t points = 0;

    while (chunk_split(&chunks, &value)) {
        struct chunk_cursor cursor;
        struct chunk_point point;
        if (chunk_open(value, &chunk) != ERR_OK)
            abort();
        for (chunk_first(&cursor, &chunk); chunk_next(&cursor, &point);)
            points++;
    }
    return points;
}

int
main(int argc, char **argv)
{
    struct body body = make_body(argc > 1 ? argv[1] : NULL);
    uint8_t *copy = malloc(body.n);
    const struct chunk_origin origin = {SLICE_INIT("telegraf"), SLICE_INIT(""), 0, 0, 1};
    static struct chunk_builder builder;
    struct buf out;
    uint64_t points = 0;
    int64_t start = clock_wall_ns(&clock_system);

    if (copy == NULL)
        return 1;
    for (int i = 0; i < ROUNDS; i++)
        copy_bytes(copy, body.bytes, body.n);
    report("memcpy", body, 0, clock_wall_ns(&clock_system) - start);

    start = clock_wall_ns(&clock_system);
    for (int i = 0; i < ROUNDS; i++)
        points += parse(body, NULL);
    report("parse", body, points, clock_wall_ns(&clock_system) - start);

    buf_init(&out, BODY_BYTES * 4);
    points = 0;
    start = clock_wall_ns(&clock_system);
    for (int i = 0; i < ROUNDS; i++) {
        buf_clear(&out);
        if (chunk_builder_init(&builder, &out, LIMIT, &origin) != ERR_OK)
            return 1;
        points += parse(body, &builder);
        if (chunk_builder_finish(&builder) != ERR_OK)
            return 1;
    }
    report("parse and chunk", body, points, clock_wall_ns(&clock_system) - start);
    printf("%-16s %8.3f of the lines without their timestamps\n", "chunk bytes",
           (double)buf_len(&out) / ((double)body.n - 20.0 * (double)builder.points));

    points = 0;
    start = clock_wall_ns(&clock_system);
    for (int i = 0; i < ROUNDS; i++)
        points += read_back(buf_peek(&out));
    report("open and step", body, points, clock_wall_ns(&clock_system) - start);
    buf_free(&out);
    free(copy);
    free(body.bytes);
    return 0;
}
