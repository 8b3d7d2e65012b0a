/*
 * mqtt_script.h: what an MQTT sink and its broker say, as bytes, for scripts.
 */
#ifndef SINKD_SUPPORT_MQTT_SCRIPT_H
#define SINKD_SUPPORT_MQTT_SCRIPT_H

#define URL "mqtt://broker/t"

/* CONNECT with client identifier "c" and a keep-alive of 60 s; clean or not; the answers to it. */
#define HELLO "\x10\x0d\0\4MQTT\4\2\0\x3c\0\1c"
#define HELLO_AGAIN "\x10\x0d\0\4MQTT\4\0\0\x3c\0\1c"
#define WELCOME "\x20\2\0\0"
#define WELCOME_BACK "\x20\2\1\0"
#define GOODBYE "\xe0\0"
#define PING "\xc0\0"
#define PONG "\xd0\0"

/* Point ${digit} as a PUBLISH to topic t, with one byte of flags and an identifier of one byte. */
#define POINT(digit) "m,t=a v=" digit "i " digit "000000000"
#define PUBLISH(first, id, digit) first "\x1a\0\1t\0" id POINT(digit)
#define QOS0(digit) "\x30\x18\0\1t" POINT(digit)
#define PUBACK(id) "\x40\2\0" id
#define PUBREC(id) "\x50\2\0" id
#define PUBREL(id) "\x62\2\0" id
#define PUBCOMP(id) "\x70\2\0" id

#endif
