/*
 * test_kafka_sasl.c: PLAIN and SCRAM, and the hashing under it. Source of the vectors: RFC 7677
 * section 3, RFC 4231 section 4.2, RFC 7914 section 11; the SHA-512 conversation was accepted by
 * librdkafka.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "kafka/kafka_sasl.h"

#define CLIENT_NONCE "rOprNGfwEbeRWgbNEkqO"
#define NONCE CLIENT_NONCE "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#define CHALLENGE "r=" NONCE ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"

static struct secret password;

/* The RFC's nonce is shorter than ours: it is put in by hand, the rest with it. */
static void
begin(struct kafka_sasl *s, enum kafka_sasl_mechanism mechanism, const char *user)
{
    static const uint8_t random[24];

    secret_free(&password);
    assert_int_equal(secret_set(&password, SLICE("pencil")), ERR_OK);
    kafka_sasl_init(s, mechanism, slice_of(user), &password, random);
    assert_int_equal(strlen(s->nonce), KAFKA_SASL_NONCE);
}

static void
hashes(void **state)
{
    uint8_t out[HASH_MAX];
    char text[2 * HASH_MAX + 1];

    (void)state;
    assert_true(hash_available());
    assert_int_equal(hash_digest(HASH_SHA256, SLICE("abc"), out), ERR_OK);
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", out[i]);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_int_equal(
        hash_hmac(HASH_SHA512, SLICE("Jefe"), SLICE("what do ya want for nothing?"), out), ERR_OK);
    assert_memory_equal(out, "\x16\x4b\x7a\x7b\xfc\xf8\x19\xe2", 8);
    assert_int_equal(hash_pbkdf2(HASH_SHA256, SLICE("passwd"), SLICE("salt"), 1, out), ERR_OK);
    assert_memory_equal(out, "\x55\xac\x04\x6e\x56\xe3\x08\x9f", 8);
    assert_int_equal(hash_pbkdf2(HASH_SHA256, SLICE("Password"), SLICE("NaCl"), 80000, out),
                     ERR_OK);
    assert_memory_equal(out, "\x4d\xdc\xd8\xf6\x0b\x98\xbe\x21", 8);
}

static void
plain(void **state)
{
    struct kafka_sasl s;
    struct buf out;

    (void)state;
    buf_init(&out, 1000);
    begin(&s, KAFKA_SASL_PLAIN, "user");
    assert_int_equal(kafka_sasl_step(&s, SLICE(""), &out, NULL), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE("\0user\0pencil")));
    assert_false(s.done);
    assert_int_equal(kafka_sasl_step(&s, SLICE(""), &out, NULL), ERR_OK);
    assert_true(s.done);
    kafka_sasl_free(&s);
    buf_free(&out);
}

/* Step 1 with the RFC's nonce. ${s}->nonce is as long as ours, so the check of it is done apart. */
static void
scram(enum kafka_sasl_mechanism mechanism, const char *proof, const char *verifier)
{
    struct kafka_sasl s;
    struct buf out, challenge, expected;
    struct errinfo info;

    buf_init(&out, 1000);
    buf_init(&challenge, 1000);
    buf_init(&expected, 1000);
    begin(&s, mechanism, "user");
    strcpy(s.nonce, CLIENT_NONCE);
    assert_int_equal(kafka_sasl_step(&s, SLICE(""), &out, &info), ERR_OK);
    assert_true(slice_eq(buf_peek(&out), SLICE("n,,n=user,r=" CLIENT_NONCE)));
    assert_int_equal(kafka_sasl_step(&s, SLICE(CHALLENGE), &out, &info), ERR_OK);
    assert_int_equal(buf_printf(&expected,
                                "c=biws,r="
                                "%s"
                                ",p=%s",
                                NONCE, proof),
                     ERR_OK);
    assert_true(slice_eq(buf_peek(&out), buf_peek(&expected)));
    assert_int_equal(buf_printf(&challenge, "v=%s", verifier), ERR_OK);
    assert_int_equal(kafka_sasl_step(&s, buf_peek(&challenge), &out, &info), ERR_OK);
    assert_true(s.done);
    kafka_sasl_free(&s);
    buf_free(&out);
    buf_free(&challenge);
    buf_free(&expected);
}

static void
scram_as_in_the_rfc(void **state)
{
    (void)state;
    scram(KAFKA_SASL_SCRAM_SHA_256, "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
          "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    scram(
        KAFKA_SASL_SCRAM_SHA_512,
        "gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
        "ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==");
}

/* What a server may say second, and what comes of it. */
static void
challenges_refused(void **state)
{
    static const struct {
        const char *format;
        enum err err;
    } rows[] = {
        {"", ERR_BAD},
        {"r=%s+more,s=W22Z", ERR_BAD},
        {"s=W22Z,r=%s+more,i=4096", ERR_BAD},
        {"r=%s+more,s=W22Z,i=many", ERR_BAD},
        {"r=%s+more,s=W2*Z,i=4096", ERR_BAD},
        {"r=%s,s=W22Z,i=4096", ERR_DENIED},
        {"r=x%s+more,s=W22Z,i=4096", ERR_DENIED},
        {"r=%s+more,s=W22Z,i=4095", ERR_DENIED},
        {"r=%s+more,s=W22Z,i=100001", ERR_DENIED},
        {"r=%s+more,s=W22Z,i=4096", ERR_OK},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct kafka_sasl s;
        struct buf out;
        struct errinfo info = {ERR_OK, 0, ""};
        char said[200] = "", *at = strstr(rows[i].format, "%s");

        buf_init(&out, 1000);
        begin(&s, KAFKA_SASL_SCRAM_SHA_256, "a=b,c");
        assert_int_equal(kafka_sasl_step(&s, SLICE(""), &out, &info), ERR_OK);
        assert_true(slice_starts(buf_peek(&out), SLICE("n,,n=a=3Db=2Cc,r=")));
        if (at != NULL)
            (void)snprintf(said, sizeof(said), "%.*s%s%s", (int)(at - rows[i].format),
                           rows[i].format, s.nonce, at + 2);
        assert_int_equal(kafka_sasl_step(&s, slice_of(said), &out, &info), rows[i].err);
        assert_int_equal(rows[i].err != ERR_OK, info.text[0] != 0);
        kafka_sasl_free(&s);
        buf_free(&out);
    }
}

/* A server that does not know the password is told nothing more. */
static void
signatures_refused(void **state)
{
    static const char *const said[] = {"e=invalid-proof", "v=", "v=AAAA", "",
                                       "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5="};

    (void)state;
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        struct kafka_sasl s;
        struct buf out;
        struct errinfo info;

        buf_init(&out, 1000);
        begin(&s, KAFKA_SASL_SCRAM_SHA_256, "user");
        memset(s.nonce, 0, sizeof(s.nonce));
        (void)snprintf(s.nonce, sizeof(s.nonce), "%s", CLIENT_NONCE);
        assert_int_equal(kafka_sasl_step(&s, SLICE(""), &out, &info), ERR_OK);
        assert_int_equal(kafka_sasl_step(&s, SLICE(CHALLENGE), &out, &info), ERR_OK);
        assert_int_equal(kafka_sasl_step(&s, slice_of(said[i]), &out, &info), ERR_DENIED);
        assert_false(s.done);
        kafka_sasl_free(&s);
        buf_free(&out);
    }
}

static void
no_memory(void **state)
{
    bool done = false;

    (void)state;
    for (size_t n = 1; !done; n++) {
        struct kafka_sasl s;
        struct buf out;
        struct errinfo info;
        enum err err;
        size_t live;

        buf_init(&out, 1000);
        begin(&s, KAFKA_SASL_SCRAM_SHA_512, "user");
        strcpy(s.nonce, CLIENT_NONCE);
        live = mem_live();
        mem_fail_at(n);
        err = kafka_sasl_step(&s, SLICE(""), &out, &info);
        if (err == ERR_OK)
            err = kafka_sasl_step(&s, SLICE(CHALLENGE), &out, &info);
        mem_fail_at(0);
        done = err == ERR_OK;
        if (!done)
            assert_int_equal(err, ERR_NOMEM);
        kafka_sasl_free(&s);
        buf_free(&out);
        assert_int_equal(mem_live(), live);
        assert_true(n < 20);
    }
    secret_free(&password);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes),
        cmocka_unit_test(plain),
        cmocka_unit_test(scram_as_in_the_rfc),
        cmocka_unit_test(challenges_refused),
        cmocka_unit_test(signatures_refused),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
