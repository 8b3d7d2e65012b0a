/*
 * text.c: base64, percent-encoding, UTF-8, JSON strings and globs.
 * Not for: parsing JSON or URLs.
 */
#include "base/text.h"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum err
text_base64(struct buf *out, struct slice s)
{
    if (s.n / 3 >= SIZE_MAX / 4 - 1)
        return ERR_NOMEM;

    size_t n = (s.n + 2) / 3 * 4;
    uint8_t *to = buf_reserve(out, n);
    if (to == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        uint32_t group = (uint32_t)s.p[i] << 16;
        if (left > 1)
            group |= (uint32_t)s.p[i + 1] << 8;
        if (left > 2)
            group |= s.p[i + 2];
        *to++ = (uint8_t)base64_digits[group >> 18];
        *to++ = (uint8_t)base64_digits[group >> 12 & 63];
        *to++ = (uint8_t)(left > 1 ? base64_digits[group >> 6 & 63] : '=');
        *to++ = (uint8_t)(left > 2 ? base64_digits[group & 63] : '=');
    }
    buf_commit(out, n);
    return ERR_OK;
}

static int
base64_value(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four digits to three bytes at ${to}; false for a byte that is no digit, or for bits that the
 * padding should have left zero (two texts would then mean the same bytes). */
static bool
unbase64_group(const uint8_t *p, size_t padding, uint8_t *to)
{
    uint32_t group = 0;

    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? base64_value(p[i]) : 0;
        if (value < 0)
            return false;
        group = group << 6 | (uint32_t)value;
    }
    if ((padding == 1 && (group & 0xff) != 0) || (padding == 2 && (group & 0xffff) != 0))
        return false;
    to[0] = (uint8_t)(group >> 16);
    if (padding < 2)
        to[1] = (uint8_t)(group >> 8 & 0xff);
    if (padding < 1)
        to[2] = (uint8_t)(group & 0xff);
    return true;
}

enum err
text_unbase64(struct buf *out, struct slice s)
{
    size_t padding = 0;

    if (s.n == 0)
        return ERR_OK;
    if (s.n % 4 != 0)
        return ERR_BAD;
    while (padding < 2 && s.p[s.n - 1 - padding] == '=')
        padding++;

    size_t n = s.n / 4 * 3 - padding;
    uint8_t *to = buf_reserve(out, n);
    if (to == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < s.n; i += 4)
        if (!unbase64_group(s.p + i, i + 4 == s.n ? padding : 0, to + i / 4 * 3))
            return ERR_BAD;
    buf_commit(out, n);
    return ERR_OK;
}

static bool
is_unreserved(uint8_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

enum err
text_percent(struct buf *out, struct slice s)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t before = buf_len(out);

    for (size_t i = 0; i < s.n; i++) {
        uint8_t coded[3] = {'%', (uint8_t)hex[s.p[i] >> 4], (uint8_t)hex[s.p[i] & 15]};
        enum err err = is_unreserved(s.p[i]) ? buf_add_byte(out, s.p[i])
                                             : buf_add(out, slice_make(coded, sizeof(coded)));
        if (err != ERR_OK) {
            buf_cut(out, before);
            return err;
        }
    }
    return ERR_OK;
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

enum err
text_unpercent(struct buf *out, struct slice s, bool plus)
{
    size_t before = buf_len(out);
    enum err err = ERR_OK;

    for (size_t i = 0; i < s.n && err == ERR_OK; i++) {
        uint8_t byte = s.p[i];
        if (byte == '+' && plus) {
            byte = ' ';
        } else if (byte == '%') {
            int high = s.n - i > 2 ? hex_value(s.p[i + 1]) : -1;
            int low = s.n - i > 2 ? hex_value(s.p[i + 2]) : -1;
            if (high < 0 || low < 0) {
                err = ERR_BAD;
                break;
            }
            byte = (uint8_t)(high * 16 + low);
            i += 2;
        }
        err = buf_add_byte(out, byte);
    }
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

/* RFC 3629 section 4: after E0, F0, ED and F4 the second byte has a narrower range. */
size_t
text_utf8(struct slice s)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t n;

    if (s.n == 0)
        return 0;
    uint8_t first = s.p[0];
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (s.n < n)
        return 0;
    if (first == 0xe0)
        low = 0xa0; /* shorter forms exist */
    else if (first == 0xed)
        high = 0x9f; /* surrogates */
    else if (first == 0xf0)
        low = 0x90; /* shorter forms exist */
    else if (first == 0xf4)
        high = 0x8f; /* over U+10FFFF */
    if (s.p[1] < low || s.p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (s.p[i] < 0x80 || s.p[i] > 0xbf)
            return 0;
    return n;
}

bool
text_is_utf8(struct slice s)
{
    while (s.n > 0) {
        size_t n = text_utf8(s);
        if (n == 0)
            return false;
        s = slice_from(s, n);
    }
    return true;
}

static bool
json_plain(uint8_t c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

/* One character that is not plain, ${n} bytes long (0: an invalid byte). */
static enum err
json_special(struct buf *out, const uint8_t *p, size_t n)
{
    switch (n == 1 ? p[0] : 0xff) {
    case '"':
        return buf_add_text(out, "\\\"");
    case '\\':
        return buf_add_text(out, "\\\\");
    case '\n':
        return buf_add_text(out, "\\n");
    case '\r':
        return buf_add_text(out, "\\r");
    case '\t':
        return buf_add_text(out, "\\t");
    default:
        break;
    }
    if (n == 0)
        return buf_add_text(out, "\\ufffd");
    if (n == 1)
        return buf_printf(out, "\\u%04x", (unsigned)p[0]);
    if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
        return buf_add_text(out, p[2] == 0xa8 ? "\\u2028" : "\\u2029");
    return buf_add(out, slice_make(p, n));
}

enum err
text_json_inner(struct buf *out, struct slice s)
{
    size_t before = buf_len(out);
    enum err err = ERR_OK;

    while (s.n > 0 && err == ERR_OK) {
        size_t n = 0;
        while (n < s.n && json_plain(s.p[n]))
            n++;
        if (n > 0) {
            err = buf_add(out, slice_to(s, n));
        } else {
            n = text_utf8(s);
            err = json_special(out, s.p, n);
            n = n == 0 ? 1 : n;
        }
        s = slice_from(s, n);
    }
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

/* Most texts have nothing to escape. */
static bool
json_all_plain(struct buf *out, struct slice s)
{
    uint8_t *room;

    for (size_t i = 0; i < s.n; i++)
        if (!json_plain(s.p[i]))
            return false;
    room = buf_reserve(out, s.n + 2);
    if (room == NULL)
        return false;
    room[0] = room[s.n + 1] = '"';
    if (s.n > 0)
        memcpy(room + 1, s.p, s.n);
    buf_commit(out, s.n + 2);
    return true;
}

enum err
text_json(struct buf *out, struct slice s)
{
    size_t before = buf_len(out);
    enum err err;

    if (json_all_plain(out, s))
        return ERR_OK;
    err = buf_add_byte(out, '"');

    if (err == ERR_OK)
        err = text_json_inner(out, s);
    if (err == ERR_OK)
        err = buf_add_byte(out, '"');
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

/* On a mismatch only the last '*' takes one byte more: an earlier one can never need to, so the
 * work is at most pattern times text. */
bool
text_glob(struct slice pattern, struct slice s)
{
    size_t p = 0, i = 0;
    size_t star = SIZE_MAX, taken = 0;

    while (i < s.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            taken = i;
        } else if (p < pattern.n && pattern.p[p] == s.p[i]) {
            p++;
            i++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            i = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
