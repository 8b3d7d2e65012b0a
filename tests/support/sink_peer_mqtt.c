/*
 * sink_peer_mqtt.c: MQTT 3.1.1 for a peer on loopback: enough of a broker for a publisher.
 *
 * Written from the specification, apart from the program's own packets.
 */
#include "support/sink_peer.h"

#include <string.h>
#include <sys/socket.h>

enum { CONNECT = 1, PUBLISH = 3, PINGREQ = 12 };

/* Section 2.2: one byte, then the length of the rest in seven bits a byte; ${head} gets what both
 * take. */
static size_t
whole_packet(struct slice in, size_t *head)
{
    size_t rest = 0;

    for (size_t i = 1; i < 5 && i < in.n; i++) {
        rest |= (size_t)(in.p[i] & 0x7f) << (7 * (i - 1));
        if ((in.p[i] & 0x80) == 0) {
            *head = i + 1;
            return in.n >= i + 1 + rest ? i + 1 + rest : 0;
        }
    }
    return 0;
}

static size_t
whole(struct slice in)
{
    size_t head;

    return whole_packet(in, &head);
}

static bool
say(int fd, const uint8_t *bytes, size_t n)
{
    return send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* Section 3.3: topic, identifier (QoS 1 alone), payload. */
static bool
answer_publish(struct sink_peer *p, int fd, struct slice packet, size_t head)
{
    struct slice rest = slice_from(packet, head);
    size_t topic = (size_t)rest.p[0] << 8 | rest.p[1];
    bool wants_answer = (packet.p[0] & 0x06) != 0;
    uint8_t ack[4] = {0x40, 2, 0, 0};

    rest = slice_from(rest, 2 + topic);
    if (wants_answer) {
        memcpy(ack + 2, rest.p, 2);
        rest = slice_from(rest, 2);
    }
    switch (sink_peer_judge(p, rest)) {
    case CONTRACT_CONFIRMS:
        return !wants_answer || say(fd, ack, sizeof(ack));
    case CONTRACT_SILENT:
        return true;
    case CONTRACT_BREAKS:
    case CONTRACT_ABSENT:
        break;
    }
    return false;
}

static bool
answer(struct sink_peer *p, int fd, struct slice packet)
{
    static const uint8_t accepted[] = {0x20, 2, 0, 0}, pong[] = {0xd0, 0};
    size_t head = 0;

    (void)whole_packet(packet, &head);
    switch (packet.p[0] >> 4) {
    case CONNECT:
        return say(fd, accepted, sizeof(accepted));
    case PUBLISH:
        return answer_publish(p, fd, packet, head);
    case PINGREQ:
        return say(fd, pong, sizeof(pong));
    default:
        return false; /* DISCONNECT, or what a publisher does not send */
    }
}

void
sink_peer_mqtt(struct sink_peer *p)
{
    memset(p, 0, sizeof(*p));
    p->whole = whole;
    p->answer = answer;
}
