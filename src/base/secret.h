/*
 * secret.h: a value that must never be seen.
 *
 * A secret prints as "****", is wiped when freed, and nothing else holds its bytes for longer than
 * the call that needs them. secret_reveal is the only way to the bytes: each caller of it is a
 * place to review.
 */
#ifndef SINKD_BASE_SECRET_H
#define SINKD_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define SECRET_MASK "****"

struct secret {
    uint8_t *bytes; /* private */
    size_t n;
};

/* secret_set(s, value): copy ${value}; what it held is wiped. An unset secret is {0}. ERR_NOMEM. */
enum err secret_set(struct secret *s, struct slice value) MUST_USE;
enum err secret_copy(struct secret *to, const struct secret *from) MUST_USE;
void secret_free(struct secret *s);

static inline bool
secret_is_set(const struct secret *s)
{
    return s->bytes != NULL;
}

struct slice secret_reveal(const struct secret *s);

/* secret_equal(s, value): compare in a time that depends on the lengths alone. */
bool secret_equal(const struct secret *s, struct slice value);

/*
 * secret_mask(text, secrets, count):
 * Replace in ${text} every occurrence of a secret of three bytes or more (plain, percent-encoded,
 * escaped with backslashes, base64) by "****", and the first part of one, of three bytes or more,
 * at the end of a text that was cut. For texts that a peer sent back; the work is the length of the
 * text times that of the secrets, so cut it first. Pointers that are NULL are passed over.
 * ERR_NOMEM (also when the longer text passes the maximum): ${text} is then emptied.
 */
enum err secret_mask(struct buf *text, const struct secret *const *secrets, size_t count) MUST_USE;

#endif
