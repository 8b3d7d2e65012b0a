/*
 * sink_peer_kafka.c: Kafka for a peer on loopback: one broker, a partition for each topic asked
 * for.
 *
 * Written from the protocol's schemas, apart from the program's own messages.
 */
#include "support/sink_peer.h"

#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/wire.h"

enum { PRODUCE = 0, METADATA = 3, API_VERSIONS = 18, INIT_PRODUCER_ID = 22 };

/* Not of the allocator: tests count what is allocated, and let it fail. One connection at a time.
 */
static uint8_t out_space[65536], lines_space[65536];

static struct buf
on(uint8_t *space, size_t size)
{
    return (struct buf){.data = space, .cap = size, .max = size};
}

static size_t
whole(struct slice in)
{
    return in.n >= 4 && in.n - 4 >= load_be32(in.p) ? load_be32(in.p) + 4 : 0;
}

static void
put_string(struct wr *w, struct slice s)
{
    wr_be16(w, (uint16_t)s.n);
    wr_bytes(w, s);
}

static struct slice
get_string(struct rd *r)
{
    return rd_bytes(r, rd_be16(r));
}

static void
versions(struct wr *w)
{
    static const uint16_t rows[][2] = {{PRODUCE, 7}, {METADATA, 4}, {INIT_PRODUCER_ID, 1}};

    wr_be16(w, 0);
    wr_be32(w, 3);
    for (size_t i = 0; i < 3; i++) {
        wr_be16(w, rows[i][0]);
        wr_be16(w, 0);
        wr_be16(w, rows[i][1]);
    }
}

/* Version 4. */
static void
metadata(const struct sink_peer *p, struct rd *r, struct wr *w)
{
    uint32_t topics = rd_be32(r);

    wr_be32(w, 0);
    wr_be32(w, 1);
    wr_be32(w, 1);
    put_string(w, SLICE("127.0.0.1"));
    wr_be32(w, sink_peer_port(p));
    wr_be16(w, UINT16_MAX); /* rack */
    wr_be16(w, UINT16_MAX); /* cluster */
    wr_be32(w, 1);          /* controller */
    wr_be32(w, topics);
    for (; topics > 0; topics--) {
        wr_be16(w, 0);
        put_string(w, get_string(r));
        wr_u8(w, 0);
        wr_be32(w, 1); /* one partition: index 0, led by broker 1, without lists */
        wr_be16(w, 0);
        wr_be32(w, 0);
        wr_be32(w, 1);
        wr_be32(w, 0);
        wr_be32(w, 0);
    }
}

/* The numbers in the records, as lines: "v=7i". */
static void
find_numbers(struct slice records, struct buf *lines)
{
    for (size_t i = 0; i + 2 < records.n; i++) {
        struct slice rest = slice_from(records, i);

        if (rest.p[0] == 'v' && rest.p[1] == '=') {
            rest = slice_to(rest, slice_find(rest, 'i') + 1);
            if (buf_add(lines, rest) != ERR_OK || buf_add_byte(lines, '\n') != ERR_OK)
                return;
        }
    }
}

/* Version 7, of one topic and one partition. */
static enum contract_mood
produce(struct sink_peer *p, struct rd *r, struct wr *w)
{
    struct slice topic;
    struct buf lines = on(lines_space, sizeof(lines_space));
    enum contract_mood mood;

    (void)rd_be16(r); /* the transactional id: null */
    (void)rd_be16(r);
    (void)rd_be32(r);
    (void)rd_be32(r);
    topic = get_string(r);
    (void)rd_be32(r);
    (void)rd_be32(r);
    find_numbers(rd_bytes(r, rd_be32(r)), &lines);
    mood = sink_peer_judge(p, buf_peek(&lines));
    wr_be32(w, 1);
    put_string(w, topic);
    wr_be32(w, 1);
    wr_be32(w, 0);
    wr_be16(w, 0);
    wr_be64(w, 0);
    wr_be64(w, UINT64_MAX);
    wr_be64(w, 0);
    wr_be32(w, 0);
    return mood;
}

static bool
answer(struct sink_peer *p, int fd, struct slice message)
{
    enum contract_mood mood = CONTRACT_CONFIRMS;
    struct rd r;
    struct wr w;
    struct buf out = on(out_space, sizeof(out_space));
    uint16_t key;
    size_t hole;
    bool good;

    rd_init(&r, slice_from(message, 4));
    wr_init(&w, &out);
    hole = wr_hole(&w, 4);
    key = rd_be16(&r);
    (void)rd_be16(&r);
    wr_be32(&w, rd_be32(&r));
    (void)get_string(&r);
    if (key == API_VERSIONS) {
        versions(&w);
    } else if (key == METADATA) {
        metadata(p, &r, &w);
    } else if (key == INIT_PRODUCER_ID) {
        wr_be32(&w, 0);
        wr_be16(&w, 0);
        wr_be64(&w, 4000);
        wr_be16(&w, 0);
    } else {
        mood = produce(p, &r, &w);
    }
    wr_fill_be32(&w, hole, (uint32_t)(wr_since(&w, hole) - 4));
    good = wr_done(&w) == ERR_OK && r.err == ERR_OK &&
           (mood == CONTRACT_SILENT ||
            (mood == CONTRACT_CONFIRMS &&
             send(fd, buf_peek(&out).p, buf_len(&out), MSG_NOSIGNAL) == (ssize_t)buf_len(&out)));
    return good;
}

void
sink_peer_kafka(struct sink_peer *p)
{
    memset(p, 0, sizeof(*p));
    p->whole = whole;
    p->answer = answer;
}
