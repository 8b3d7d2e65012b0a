/*
 * kafka_sasl.c: see kafka_sasl.h.
 */
#include "kafka/kafka_sasl.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#define SAID_MAX 16384
#define SALT_MAX 1024

const char *
kafka_sasl_name(enum kafka_sasl_mechanism mechanism)
{
    switch (mechanism) {
    case KAFKA_SASL_NONE:
        return "none";
    case KAFKA_SASL_PLAIN:
        return "PLAIN";
    case KAFKA_SASL_SCRAM_SHA_256:
        return "SCRAM-SHA-256";
    case KAFKA_SASL_SCRAM_SHA_512:
        return "SCRAM-SHA-512";
    }
    return "?";
}

bool
kafka_sasl_available(enum kafka_sasl_mechanism mechanism)
{
    return mechanism == KAFKA_SASL_NONE || mechanism == KAFKA_SASL_PLAIN || hash_available();
}

static enum hash_kind
kind_of(const struct kafka_sasl *s)
{
    return s->mechanism == KAFKA_SASL_SCRAM_SHA_256 ? HASH_SHA256 : HASH_SHA512;
}

void
kafka_sasl_init(struct kafka_sasl *s, enum kafka_sasl_mechanism mechanism, struct slice user,
                const struct secret *password, const uint8_t random[24])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    *s = (struct kafka_sasl){.mechanism = mechanism, .user = user, .password = password};
    for (size_t i = 0; i < KAFKA_SASL_NONCE; i += 4) {
        const uint8_t *three = random + i / 4 * 3;
        uint32_t bits = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];

        for (size_t k = 0; k < 4; k++)
            s->nonce[i + k] = letters[bits >> (18 - 6 * k) & 63];
    }
    buf_init(&s->said, SAID_MAX);
}

void
kafka_sasl_free(struct kafka_sasl *s)
{
    buf_wipe(&s->said);
    mem_wipe(s->server, sizeof(s->server));
}

/* ---- PLAIN ---- */

static enum err
plain(const struct kafka_sasl *s, struct buf *out)
{
    enum err err = buf_add_byte(out, 0); /* no authorization identity */

    if (err == ERR_OK)
        err = buf_add(out, s->user);
    if (err == ERR_OK)
        err = buf_add_byte(out, 0);
    return err == ERR_OK ? buf_add(out, secret_reveal(s->password)) : err;
}

/* ---- SCRAM ---- */

/* client-first-bare, which begins what the proof is about. */
static enum err
first_bare(struct kafka_sasl *s)
{
    enum err err = buf_add_text(&s->said, "n=");

    for (size_t i = 0; i < s->user.n && err == ERR_OK; i++) {
        uint8_t c = s->user.p[i];

        if (c == '=')
            err = buf_add_text(&s->said, "=3D");
        else if (c == ',')
            err = buf_add_text(&s->said, "=2C");
        else
            err = buf_add_byte(&s->said, c);
    }
    return err == ERR_OK ? buf_printf(&s->said, ",r=%s", s->nonce) : err;
}

static enum err
client_first(struct kafka_sasl *s, struct buf *out)
{
    enum err err = first_bare(s);

    if (err == ERR_OK)
        err = buf_add_text(out, "n,,");
    return err == ERR_OK ? buf_add(out, buf_peek(&s->said)) : err;
}

struct challenge {
    struct slice nonce, salt; /* the salt as base64 */
    uint64_t rounds;
};

/* One attribute "x=..." of a message, off its front. */
static bool
attribute(struct slice *rest, char name, struct slice *value)
{
    struct slice part;

    if (!slice_split(rest, ',', &part) || part.n < 2 || part.p[0] != (uint8_t)name ||
        part.p[1] != '=')
        return false;
    *value = slice_from(part, 2);
    return true;
}

static enum err
read_challenge(const struct kafka_sasl *s, struct slice token, struct challenge *c,
               struct errinfo *info)
{
    struct slice rest = token, rounds;

    if (!attribute(&rest, 'r', &c->nonce) || !attribute(&rest, 's', &c->salt) ||
        !attribute(&rest, 'i', &rounds) || num_u64(rounds, &c->rounds) != ERR_OK)
        return errinfo_set(info, ERR_BAD, "the broker's SCRAM challenge makes no sense");
    if (c->nonce.n <= strlen(s->nonce) || !slice_starts(c->nonce, slice_of(s->nonce)))
        return errinfo_set(info, ERR_DENIED, "the broker's SCRAM nonce is not ours continued");
    if (c->rounds < KAFKA_SASL_ROUNDS_MIN || c->rounds > KAFKA_SASL_ROUNDS_MAX)
        return errinfo_set(
            info, ERR_DENIED, "the broker asks for %llu SCRAM iterations; %d to %d are accepted",
            (unsigned long long)c->rounds, KAFKA_SASL_ROUNDS_MIN, KAFKA_SASL_ROUNDS_MAX);
    return ERR_OK;
}

/* HMAC(key, text); ${key} is a digest. */
static enum err
sign(enum hash_kind kind, const uint8_t *key, struct slice text, uint8_t *out)
{
    return hash_hmac(kind, slice_make(key, hash_size(kind)), text, out);
}

/* Of the salted password: the client's proof over what was said, and the signature to expect. */
static enum err
prove(struct kafka_sasl *s, const uint8_t *salted, uint8_t *proof)
{
    enum hash_kind kind = kind_of(s);
    uint8_t client[HASH_MAX], stored[HASH_MAX], key[HASH_MAX];
    struct slice said = buf_peek(&s->said);
    enum err err = sign(kind, salted, SLICE("Client Key"), client);

    if (err == ERR_OK)
        err = hash_digest(kind, slice_make(client, hash_size(kind)), stored);
    if (err == ERR_OK)
        err = sign(kind, stored, said, proof);
    for (size_t i = 0; err == ERR_OK && i < hash_size(kind); i++)
        proof[i] ^= client[i];
    if (err == ERR_OK)
        err = sign(kind, salted, SLICE("Server Key"), key);
    if (err == ERR_OK)
        err = sign(kind, key, said, s->server);
    mem_wipe(client, sizeof(client));
    mem_wipe(stored, sizeof(stored));
    mem_wipe(key, sizeof(key));
    return err;
}

static enum err
salted_proof(struct kafka_sasl *s, const struct challenge *c, uint8_t *proof)
{
    uint8_t salted[HASH_MAX];
    struct buf salt;
    enum err err;

    buf_init(&salt, SALT_MAX);
    err = text_unbase64(&salt, c->salt);
    if (err == ERR_OK)
        err = hash_pbkdf2(kind_of(s), secret_reveal(s->password), buf_peek(&salt),
                          (uint32_t)c->rounds, salted);
    buf_free(&salt);
    if (err == ERR_OK)
        err = prove(s, salted, proof);
    mem_wipe(salted, sizeof(salted));
    return err;
}

static enum err
client_final(struct kafka_sasl *s, struct slice token, struct buf *out, struct errinfo *info)
{
    struct challenge c;
    uint8_t proof[HASH_MAX];
    enum err err = read_challenge(s, token, &c, info);

    if (err != ERR_OK)
        return err;
    err = buf_printf(out, "c=biws,r=%.*s", SLICE_PRI(c.nonce));
    if (err == ERR_OK)
        err = buf_printf(&s->said, ",%.*s,%.*s", SLICE_PRI(token), SLICE_PRI(buf_peek(out)));
    if (err == ERR_OK)
        err = salted_proof(s, &c, proof);
    if (err == ERR_OK)
        err = buf_add_text(out, ",p=");
    if (err == ERR_OK)
        err = text_base64(out, slice_make(proof, hash_size(kind_of(s))));
    if (err == ERR_BAD)
        errinfo_set(info, err, "the salt in the broker's SCRAM challenge is no base64");
    return err;
}

/* In a time that says nothing about where they differ. */
static bool
equal(const uint8_t *a, struct slice b, size_t n)
{
    unsigned different = b.n != n;

    for (size_t i = 0; i < n && i < b.n; i++)
        different |= (unsigned)(a[i] ^ b.p[i]);
    return different == 0;
}

static enum err
verify(struct kafka_sasl *s, struct slice token, struct errinfo *info)
{
    struct slice rest = token, value = {NULL, 0};
    struct buf signature;
    bool good;

    if (slice_starts(token, SLICE("e=")))
        return errinfo_set(info, ERR_DENIED, "the broker refuses the credentials");
    buf_init(&signature, HASH_MAX * 2);
    good = attribute(&rest, 'v', &value) && text_unbase64(&signature, value) == ERR_OK &&
           equal(s->server, buf_peek(&signature), hash_size(kind_of(s)));
    buf_free(&signature);
    if (!good)
        return errinfo_set(info, ERR_DENIED,
                           "the broker could not prove that it knows the password");
    return ERR_OK;
}

enum err
kafka_sasl_step(struct kafka_sasl *s, struct slice token, struct buf *out, struct errinfo *info)
{
    int step = s->step++;
    enum err err = ERR_OK;

    assert(!s->done && s->mechanism != KAFKA_SASL_NONE);
    buf_clear(out);
    if (!kafka_sasl_available(s->mechanism))
        return errinfo_set(info, ERR_CONFIG, "this build has no hashing: sasl can be plain alone");
    if (s->mechanism == KAFKA_SASL_PLAIN) {
        s->done = step == 1;
        err = step == 0 ? plain(s, out) : ERR_OK;
    } else if (step == 0) {
        err = client_first(s, out);
    } else if (step == 1) {
        err = client_final(s, token, out, info);
    } else {
        err = verify(s, token, info);
        s->done = err == ERR_OK;
    }
    if (err == ERR_NOMEM)
        errinfo_set(info, err, "no memory to authenticate");
    return err;
}
