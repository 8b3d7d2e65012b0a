/*
 * hash.h: SHA-2, HMAC and PBKDF2, in one call each. The only file beside net/tls.c that includes
 * mbedtls is hash.c; built without it hash_available() is false and every call answers ERR_CONFIG.
 *
 * Source: FIPS 180-4, RFC 2104, RFC 8018 section 5.2.
 */
#ifndef SINKD_BASE_HASH_H
#define SINKD_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

enum hash_kind { HASH_SHA256, HASH_SHA512 };

#define HASH_MAX 64 /* bytes of the longest digest */

bool hash_available(void);

/* hash_size(kind): bytes of a digest. */
size_t hash_size(enum hash_kind kind);

/* Each fills hash_size(kind) bytes of ${out}. Errors: ERR_CONFIG, ERR_NOMEM. */
enum err hash_digest(enum hash_kind kind, struct slice in, uint8_t out[HASH_MAX]) MUST_USE;
enum err hash_hmac(enum hash_kind kind, struct slice key, struct slice in,
                   uint8_t out[HASH_MAX]) MUST_USE;

/* hash_pbkdf2(kind, password, salt, rounds, out): one block of derived key; ${rounds} is 1 or more.
 */
enum err hash_pbkdf2(enum hash_kind kind, struct slice password, struct slice salt, uint32_t rounds,
                     uint8_t out[HASH_MAX]) MUST_USE;

#endif
