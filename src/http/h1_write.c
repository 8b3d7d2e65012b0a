/*
 * h1_write.c: bytes of heads and the small texts that InfluxDB clients look for.
 */
#include "http/h1_write.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "http/h1_parse.h"

#define ERROR_TEXT_MAX 1024 /* InfluxDB cuts X-Influxdb-Error here */

char *
h1_write_date(char out[H1_DATE_TEXT], int64_t seconds)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct civil c = clock_civil(seconds);

    (void)snprintf(out, H1_DATE_TEXT, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[c.weekday], c.day,
                   months[c.month - 1], c.year % 10000, c.hour, c.minute, c.second);
    return out;
}

const char *
h1_write_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {100, "Continue"},
        {200, "OK"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Request Entity Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };
    size_t i;

    for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Unknown";
}

enum err
h1_write_status(struct buf *out, int minor, int status)
{
    return buf_printf(out, "HTTP/1.%d %d %s\r\n", minor, status, h1_write_reason(status));
}

/* add_parts(out, parts, count): all or nothing. */
static enum err
add_parts(struct buf *out, const struct slice *parts, size_t count)
{
    size_t before = buf_len(out), i;

    for (i = 0; i < count; i++) {
        if (buf_add(out, parts[i]) != ERR_OK) {
            buf_cut(out, before);
            return ERR_NOMEM;
        }
    }
    return ERR_OK;
}

enum err
h1_write_request(struct buf *out, struct slice method, struct slice target)
{
    struct slice parts[] = {method, SLICE(" "), target, SLICE(" HTTP/1.1\r\n")};
    size_t i;

    if (!h1_parse_is_token(method) || target.n == 0)
        return ERR_BAD;
    for (i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] == 0x7f)
            return ERR_BAD;
    return add_parts(out, parts, 4);
}

enum err
h1_write_field(struct buf *out, const char *name, struct slice value)
{
    struct slice parts[] = {slice_of(name), SLICE(": "), value, SLICE("\r\n")};
    size_t i;

    if (!h1_parse_is_token(parts[0]))
        return ERR_BAD;
    for (i = 0; i < value.n; i++)
        if ((value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
            return ERR_BAD;
    return add_parts(out, parts, 4);
}

enum err
h1_write_length(struct buf *out, uint64_t n)
{
    return buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)n);
}

enum err
h1_write_chunk(struct buf *out, struct slice data)
{
    size_t before = buf_len(out);
    enum err err;

    if (data.n == 0)
        return buf_add(out, SLICE("0\r\n\r\n"));
    err = buf_printf(out, "%llx\r\n", (unsigned long long)data.n);
    if (err == ERR_OK)
        err = buf_add(out, data);
    if (err == ERR_OK)
        err = buf_add(out, SLICE("\r\n"));
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

static enum err
put_error_json(struct buf *out, const char *before, struct slice text, const char *behind)
{
    size_t start = buf_len(out);
    enum err err;

    err = buf_add_text(out, before);
    if (err == ERR_OK)
        err = text_json(out, text);
    if (err == ERR_OK)
        err = buf_add_text(out, behind);
    if (err != ERR_OK)
        buf_cut(out, start);
    return err;
}

enum err
h1_write_error_json(struct buf *out, struct slice text)
{
    return put_error_json(out, "{\"error\":", text, "}\n");
}

enum err
h1_write_error_pretty(struct buf *out, struct slice text)
{
    return put_error_json(out, "{\n    \"error\": ", text, "\n}\n");
}

/* put_csv(out, text): a field, quoted where encoding/csv quotes. */
static enum err
put_csv(struct buf *out, struct slice text)
{
    bool quoted = text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t');
    enum err err = ERR_OK;
    size_t i;

    for (i = 0; i < text.n && !quoted; i++)
        quoted = slice_find(SLICE(",\"\r\n"), text.p[i]) < 4;
    if (!quoted)
        return buf_add(out, text);
    err = buf_add_byte(out, '"');
    for (i = 0; i < text.n && err == ERR_OK; i++) {
        err = buf_add_byte(out, text.p[i]);
        if (err == ERR_OK && text.p[i] == '"')
            err = buf_add_byte(out, '"');
    }
    return err == ERR_OK ? buf_add_byte(out, '"') : err;
}

enum err
h1_write_error_csv(struct buf *out, struct slice text)
{
    size_t start = buf_len(out);
    enum err err = buf_add(out, SLICE("error\n"));

    if (err == ERR_OK)
        err = put_csv(out, text);
    if (err == ERR_OK)
        err = buf_add_byte(out, '\n');
    if (err != ERR_OK)
        buf_cut(out, start);
    return err;
}

enum err
h1_write_error_text(struct buf *out, struct slice text)
{
    uint8_t *p;
    size_t i, n = 0;

    text = slice_to(text, ERROR_TEXT_MAX);
    p = buf_reserve(out, text.n);
    if (p == NULL)
        return text.n == 0 ? ERR_OK : ERR_NOMEM;
    for (i = 0; i < text.n; i++) {
        if (text.p[i] == '\r' || text.p[i] == '\n')
            p[n++] = ' ';
        else if ((text.p[i] >= ' ' || text.p[i] == '\t') && text.p[i] != 0x7f)
            p[n++] = text.p[i];
    }
    buf_commit(out, n);
    return ERR_OK;
}

char *
h1_write_uuid(char out[H1_UUID_TEXT], const uint8_t bytes[16])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t b;
    size_t i, n = 0;

    for (i = 0; i < 16; i++) {
        b = bytes[i];
        if (i == 6)
            b = (uint8_t)((b & 0x0f) | 0x40); /* version 4, RFC 9562 section 5.4 */
        if (i == 8)
            b = (uint8_t)((b & 0x3f) | 0x80);
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        out[n++] = digits[b >> 4];
        out[n++] = digits[b & 15];
    }
    out[n] = '\0';
    return out;
}
