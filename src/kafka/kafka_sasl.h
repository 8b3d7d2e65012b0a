/*
 * kafka_sasl.h: what is said inside SaslAuthenticate: PLAIN and SCRAM.
 *
 * Pure: the nonce is handed in. The server's signature is verified; a server that cannot give it
 * does not know the password and gets no data. Source: RFC 4616, RFC 5802, RFC 7677.
 */
#ifndef SINKD_KAFKA_KAFKA_SASL_H
#define SINKD_KAFKA_KAFKA_SASL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/secret.h"
#include "base/slice.h"

enum kafka_sasl_mechanism {
    KAFKA_SASL_NONE,
    KAFKA_SASL_PLAIN,
    KAFKA_SASL_SCRAM_SHA_256,
    KAFKA_SASL_SCRAM_SHA_512
};

/* "PLAIN", "SCRAM-SHA-256", ...; a static string. */
const char *kafka_sasl_name(enum kafka_sasl_mechanism mechanism);

/* kafka_sasl_available(m): false for SCRAM in a build without hashing. */
bool kafka_sasl_available(enum kafka_sasl_mechanism mechanism);

/* Iterations that are accepted: fewer protect nothing, more are an attempt to keep us busy. */
#define KAFKA_SASL_ROUNDS_MIN 4096
#define KAFKA_SASL_ROUNDS_MAX 100000

#define KAFKA_SASL_NONCE \
    32 /* characters of a nonce: kafka_sasl_nonce makes them of 24 random bytes */

struct kafka_sasl {
    enum kafka_sasl_mechanism mechanism;
    struct slice user;             /* borrowed */
    const struct secret *password; /* borrowed */
    char nonce[KAFKA_SASL_NONCE + 1];
    struct buf said;          /* private: what the proof is about */
    uint8_t server[HASH_MAX]; /* private: the signature that has to come */
    int step;
    bool done;
};

/* kafka_sasl_init(s, mechanism, user, password, random): ${random} are 24 bytes nobody can guess.
 */
void kafka_sasl_init(struct kafka_sasl *s, enum kafka_sasl_mechanism mechanism, struct slice user,
                     const struct secret *password, const uint8_t random[24]);
void kafka_sasl_free(struct kafka_sasl *s);

/*
 * kafka_sasl_step(s, token, out, info):
 * Take what the server said (nothing at first) and put what is to be said into the emptied ${out}.
 * With s->done nothing is to be said. ${out} holds secrets: wipe it. Errors: ERR_DENIED (the server
 * is not who it should be, or refuses), ERR_BAD (it makes no sense), ERR_CONFIG (no hashing),
 * ERR_NOMEM.
 */
enum err kafka_sasl_step(struct kafka_sasl *s, struct slice token, struct buf *out,
                         struct errinfo *info) MUST_USE;

#endif
