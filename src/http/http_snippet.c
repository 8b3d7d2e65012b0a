/*
 * http_snippet.c: one printable line out of whatever a peer put into an error answer.
 *
 * Two passes over at most the first 4 KiB: find the text, in a JSON object the value of "error" or
 * "message"; then make it printable. A JSON that is cut or malformed is shown as the plain text it
 * then is, so the search need not be a full parser.
 */
#include "http/http_snippet.h"

#include <stdbool.h>

#include "base/num.h"
#include "base/text.h"

#define LOOK_BYTES 4096
#define SHOWN_BYTES 120

struct line {
    char *out;
    size_t n;
    bool blank; /* a blank is due before the next visible byte */
    bool full;
};

/* put(l, s): append whole or, when it would pass the limit, mark the line as full. */
static void
put(struct line *l, struct slice s)
{
    size_t blank = l->blank && l->n > 0 ? 1 : 0;

    if (l->full || l->n + blank + s.n > SHOWN_BYTES) {
        l->full = true;
        return;
    }
    if (blank == 1)
        l->out[l->n++] = ' ';
    memcpy(l->out + l->n, s.p, s.n);
    l->n += s.n;
    l->blank = false;
}

/* put_raw(l, s): append the first character of ${s}; returns how many bytes it has. */
static size_t
put_raw(struct line *l, struct slice s)
{
    size_t n = text_utf8(s);

    if (n == 0) {
        put(l, SLICE("?"));
        return 1;
    }
    /* C1 controls (U+0080 to U+009F) steer terminals as well as the plain ones do. */
    if (s.p[0] <= ' ' || s.p[0] == 0x7f || (s.p[0] == 0xc2 && s.p[1] < 0xa0))
        l->blank = true;
    else
        put(l, slice_to(s, n));
    return n;
}

/* put_escape(l, s): append what the JSON escape at the start of ${s} stands for; its length. */
static size_t
put_escape(struct line *l, struct slice s)
{
    uint64_t code;
    uint8_t byte;

    if (s.n < 2)
        return 1;
    if (s.p[1] == 'u') {
        if (s.n < 6)
            return s.n; /* cut off */
        if (num_hex(slice_to(slice_from(s, 2), 4), &code) == ERR_OK && code < 0x80) {
            byte = (uint8_t)code;
            (void)put_raw(l, slice_make(&byte, 1));
        } else {
            put(l, SLICE("?"));
        }
        return 6;
    }
    if (s.p[1] == '"' || s.p[1] == '\\' || s.p[1] == '/')
        put(l, slice_make(s.p + 1, 1));
    else
        l->blank = true; /* \n \t \r \b \f */
    return 2;
}

/* string_end(s): ${s} begins behind a quote: the index of the one that closes it, or s.n. */
static size_t
string_end(struct slice s)
{
    size_t i;

    for (i = 0; i < s.n && s.p[i] != '"'; i++) {
        if (s.p[i] == '\\')
            i++;
    }
    return i < s.n ? i : s.n;
}

static size_t
skip_blanks(struct slice s, size_t i)
{
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r' || s.p[i] == '\n'))
        i++;
    return i;
}

/* member(body, name, out): the string value of member ${name} of the outermost object, still
 * escaped. */
static bool
member(struct slice body, struct slice name, struct slice *out)
{
    size_t i, end, depth = 0;
    struct slice text;

    for (i = 0; i < body.n; i++) {
        if (body.p[i] == '{' || body.p[i] == '[')
            depth++;
        else if ((body.p[i] == '}' || body.p[i] == ']') && depth > 0)
            depth--;
        if (body.p[i] != '"')
            continue;
        text = slice_from(body, i + 1);
        end = string_end(text);
        text = slice_to(text, end);
        i += end + 1; /* at the closing quote, or at the end */
        if (depth != 1 || !slice_eq(text, name))
            continue;
        end = skip_blanks(body, i + 1);
        if (end >= body.n || body.p[end] != ':')
            continue;
        end = skip_blanks(body, end + 1);
        if (end >= body.n || body.p[end] != '"')
            return false;
        *out = slice_from(body, end + 1);
        *out = slice_to(*out, string_end(*out));
        return true;
    }
    return false;
}

char *
http_snippet_make(char out[HTTP_SNIPPET_TEXT], struct slice body)
{
    struct slice all = slice_to(body, LOOK_BYTES), text;
    struct line l = {out, 0, false, false};
    size_t first = skip_blanks(all, 0);
    bool json = first < all.n && all.p[first] == '{' &&
                (member(all, SLICE("error"), &text) || member(all, SLICE("message"), &text));

    if (!json)
        text = all;
    while (text.n > 0 && !l.full)
        text =
            slice_from(text, json && text.p[0] == '\\' ? put_escape(&l, text) : put_raw(&l, text));
    if (l.full || (!json && all.n < body.n)) {
        memcpy(out + l.n, "...", 3);
        l.n += 3;
    }
    out[l.n] = '\0';
    return out;
}
