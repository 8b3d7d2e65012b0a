/*
 * secret.c: values that are wiped, and texts from which they are taken out.
 * Not for: sealing secrets on disk.
 */
#include "base/secret.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define SHORTEST 3 /* shorter ones would mask half of any text */

enum err
secret_set(struct secret *s, struct slice value)
{
    uint8_t *bytes = mem_alloc(value.n);

    if (bytes == NULL)
        return ERR_NOMEM;
    if (value.n > 0)
        memcpy(bytes, value.p, value.n);
    secret_free(s);
    s->bytes = bytes;
    s->n = value.n;
    return ERR_OK;
}

enum err
secret_copy(struct secret *to, const struct secret *from)
{
    if (secret_is_set(from))
        return secret_set(to, secret_reveal(from));
    secret_free(to);
    return ERR_OK;
}

void
secret_free(struct secret *s)
{
    if (s->bytes != NULL)
        mem_wipe(s->bytes, s->n);
    mem_free(s->bytes);
    *s = (struct secret){NULL, 0};
}

struct slice
secret_reveal(const struct secret *s)
{
    return slice_make(s->bytes, s->n);
}

bool
secret_equal(const struct secret *s, struct slice value)
{
    unsigned differences = 0;

    if (!secret_is_set(s) || s->n != value.n)
        return false;
    for (size_t i = 0; i < value.n; i++)
        differences |= (unsigned)(s->bytes[i] ^ value.p[i]);
    return differences == 0;
}

static int
hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Bytes at the start of ${s} that stand for ${byte}: itself, %XX in any case, or behind a backslash
 * as JSON and quoted strings have it. 0 when they do not. Matching byte by byte this way finds
 * every mixture: encoders differ in which bytes they leave alone.
 */
static size_t
match_byte(struct slice s, uint8_t byte)
{
    if (s.n >= 3 && s.p[0] == '%') {
        int high = hex_value(s.p[1]), low = hex_value(s.p[2]);
        if (high >= 0 && low >= 0 && high * 16 + low == byte)
            return 3;
    }
    if (s.n >= 1 && s.p[0] == byte)
        return 1;
    if (s.n >= 2 && s.p[0] == '\\' && s.p[1] == byte)
        return 2;
    return s.n >= 1 && s.p[0] == '+' && byte == ' ' ? 1 : 0;
}

/* Both alphabets of base64 are one here. */
static bool
same_digit(uint8_t a, uint8_t b)
{
    return a == b || (a == '-' && b == '+') || (a == '_' && b == '/');
}

/*
 * Bytes at the start of ${text} that are the ${needle}, or all of ${text} when it ends inside one:
 * a peer's text is often cut, and the first half of a password is a secret too. 0 when neither.
 */
static size_t
match_plain(struct slice text, struct slice needle)
{
    size_t at = 0, i = 0;

    while (i < needle.n && at < text.n) {
        size_t n = match_byte(slice_from(text, at), needle.p[i]);
        if (n == 0)
            break;
        at += n;
        i++;
    }
    return i == needle.n || (at == text.n && i >= SHORTEST) ? at : 0;
}

static size_t
match_base64(struct slice text, struct slice digits)
{
    size_t i = 0;

    while (i < digits.n && i < text.n && same_digit(text.p[i], digits.p[i]))
        i++;
    return i == digits.n || (i == text.n && i > SHORTEST) ? i : 0;
}

/* Copies ${text} to ${to}, with every occurrence of the one secret masked. */
static enum err
mask_one(struct buf *to, struct slice text, struct slice needle, struct slice digits)
{
    enum err err = ERR_OK;

    while (text.n > 0 && err == ERR_OK) {
        size_t n = match_plain(text, needle);
        if (n == 0)
            n = match_base64(text, digits);
        if (n > 0) {
            err = buf_add_text(to, SECRET_MASK);
        } else {
            n = 1;
            err = buf_add_byte(to, text.p[0]);
        }
        text = slice_from(text, n);
    }
    return err;
}

/* Replaces ${text} by its masked form. */
static enum err
mask(struct buf *text, const struct secret *secret)
{
    struct slice needle = secret_reveal(secret);
    struct buf masked, digits;

    if (needle.n < SHORTEST)
        return ERR_OK;
    buf_init(&masked, text->max);
    buf_init(&digits, needle.n * 2 + 4);
    enum err err = text_base64(&digits, needle);
    if (err == ERR_OK) {
        struct slice all = buf_peek(&digits);
        while (all.n > 0 && all.p[all.n - 1] == '=')
            all.n--; /* padding is often left out */
        err = mask_one(&masked, buf_peek(text), needle, all);
    }
    buf_wipe(&digits);
    if (err != ERR_OK) {
        buf_wipe(&masked);
        return err;
    }
    buf_wipe(text);
    *text = masked;
    return ERR_OK;
}

enum err
secret_mask(struct buf *text, const struct secret *const *secrets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        enum err err = secrets[i] == NULL ? ERR_OK : mask(text, secrets[i]);
        if (err != ERR_OK) {
            buf_wipe(text);
            return err;
        }
    }
    return ERR_OK;
}
