/*
 * hash.c: see hash.h.
 */
#include "base/hash.h"

#include <string.h>

#include "base/mem.h"
#include "config.h"

size_t
hash_size(enum hash_kind kind)
{
    return kind == HASH_SHA256 ? 32 : 64;
}

#if defined(SINKD_HAVE_TLS)

#include <mbedtls/md.h>

bool
hash_available(void)
{
    return true;
}

static const mbedtls_md_info_t *
info_of(enum hash_kind kind)
{
    return mbedtls_md_info_from_type(kind == HASH_SHA256 ? MBEDTLS_MD_SHA256 : MBEDTLS_MD_SHA512);
}

/* Its only failure with good arguments is the allocation of a context. */
static enum err
result(int status)
{
    return status == 0 ? ERR_OK : ERR_NOMEM;
}

enum err
hash_digest(enum hash_kind kind, struct slice in, uint8_t out[HASH_MAX])
{
    return result(mbedtls_md(info_of(kind), in.p, in.n, out));
}

enum err
hash_hmac(enum hash_kind kind, struct slice key, struct slice in, uint8_t out[HASH_MAX])
{
    return result(mbedtls_md_hmac(info_of(kind), key.p, key.n, in.p, in.n, out));
}

/* Every further round: the HMAC of the last one, added without carry. */
static int
stretch(mbedtls_md_context_t *md, size_t size, uint32_t rounds, uint8_t *out)
{
    uint8_t last[HASH_MAX];
    int status = 0;

    memcpy(last, out, size);
    while (--rounds > 0 && status == 0) {
        status = mbedtls_md_hmac_reset(md);
        if (status == 0)
            status = mbedtls_md_hmac_update(md, last, size);
        if (status == 0)
            status = mbedtls_md_hmac_finish(md, last);
        for (size_t i = 0; i < size; i++)
            out[i] ^= last[i];
    }
    mem_wipe(last, sizeof(last));
    return status;
}

enum err
hash_pbkdf2(enum hash_kind kind, struct slice password, struct slice salt, uint32_t rounds,
            uint8_t out[HASH_MAX])
{
    static const uint8_t first_block[4] = {0, 0, 0, 1};
    mbedtls_md_context_t md;
    int status;

    mbedtls_md_init(&md);
    status = mbedtls_md_setup(&md, info_of(kind), 1);
    if (status == 0)
        status = mbedtls_md_hmac_starts(&md, password.p, password.n);
    if (status == 0)
        status = mbedtls_md_hmac_update(&md, salt.p, salt.n);
    if (status == 0)
        status = mbedtls_md_hmac_update(&md, first_block, sizeof(first_block));
    if (status == 0)
        status = mbedtls_md_hmac_finish(&md, out);
    if (status == 0)
        status = stretch(&md, hash_size(kind), rounds, out);
    mbedtls_md_free(&md);
    return result(status);
}

#else /* no mbedtls */

bool
hash_available(void)
{
    return false;
}

enum err
hash_digest(enum hash_kind kind, struct slice in, uint8_t out[HASH_MAX])
{
    (void)kind;
    (void)in;
    (void)out;
    return ERR_CONFIG;
}

enum err
hash_hmac(enum hash_kind kind, struct slice key, struct slice in, uint8_t out[HASH_MAX])
{
    (void)kind;
    (void)key;
    (void)in;
    (void)out;
    return ERR_CONFIG;
}

enum err
hash_pbkdf2(enum hash_kind kind, struct slice password, struct slice salt, uint32_t rounds,
            uint8_t out[HASH_MAX])
{
    (void)kind;
    (void)password;
    (void)salt;
    (void)rounds;
    (void)out;
    return ERR_CONFIG;
}

#endif
