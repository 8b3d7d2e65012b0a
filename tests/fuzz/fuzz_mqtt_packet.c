/*
 * fuzz_mqtt_packet.c: any bytes as what a broker sends. A packet never takes more than there is, a
 * prefix of it is incomplete, a head at full length is never incomplete, and the answers that are
 * read can be written back byte for byte.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "mqtt/mqtt_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_prefixes(struct slice packet_bytes)
{
    struct mqtt_packet packet;
    size_t used;

    for (size_t n = 0; n < packet_bytes.n && n < 64; n++)
        assert(mqtt_packet_read(slice_to(packet_bytes, n), &packet, &used, NULL) == ERR_SHORT &&
               used == 0);
}

static void
check_round_trip(const struct mqtt_packet *packet, struct slice bytes)
{
    struct buf out;
    struct wr w;

    if (packet->type < MQTT_PUBACK || packet->type > MQTT_PUBCOMP || bytes.n != 4)
        return;
    buf_init(&out, 16);
    wr_init(&w, &out);
    mqtt_packet_answer(&w, packet->type, packet->id);
    assert(wr_done(&w) == ERR_OK && slice_eq(buf_peek(&out), bytes));
    buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);

    while (in.n > 0) {
        struct mqtt_packet packet;
        struct errinfo info = {ERR_OK, 0, ""};
        size_t used = 0, skip;
        enum err err = mqtt_packet_read(in, &packet, &used, &info);

        if (err != ERR_OK) {
            assert(err == ERR_BAD ? info.text[0] != '\0' : err == ERR_SHORT);
            assert(used == 0 && (err == ERR_BAD || in.n < MQTT_PACKET_HEAD_MAX));
            break;
        }
        assert(used >= 2 && used <= in.n);
        assert(packet.type == MQTT_PUBLISH || packet.payload_bytes == 0);
        assert(packet.type != MQTT_PUBLISH || mqtt_packet_is_topic(packet.topic));
        check_prefixes(slice_to(in, used));
        check_round_trip(&packet, slice_to(in, used));
        skip = packet.payload_bytes < in.n - used ? packet.payload_bytes : in.n - used;
        in = slice_from(in, used + skip);
    }
    return 0;
}
