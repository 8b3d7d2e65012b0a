/*
 * log.c: formats one line into memory on the stack and writes it with one call.
 * Not for: files, rotation or syslog; whoever starts the daemon owns standard error.
 *
 * The line never allocates, so that "no memory" can still be said. Values are escaped in steps of
 * one whole character, and a step that does not fit ends the value: a cut line stays well formed.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"

#define LINE_MAX_BYTES 1024
#define CLOSING 3 /* kept free for the end of a value and of the line: quote, brace, LF */
#define NS_PER_S INT64_C(1000000000)

/* Set before the first thread starts, only read after that. */
static enum log_level wanted = LOG_INFO;
static bool as_json;
static const struct clock *now = &clock_system;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* lines are written one after another */

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

struct out {
    uint8_t bytes[LINE_MAX_BYTES];
    size_t n;
    bool full; /* a value was cut: nothing more goes in */
};

/* All of ${s}, or nothing when it does not fit before the closing bytes. */
static bool
put(struct out *o, struct slice s)
{
    if (o->full || s.n > sizeof(o->bytes) - CLOSING - o->n) {
        o->full = true;
        return false;
    }
    if (s.n > 0)
        memcpy(o->bytes + o->n, s.p, s.n);
    o->n += s.n;
    return true;
}

static void
put_closing(struct out *o, char c)
{
    o->bytes[o->n++] = (uint8_t)c;
}

/* How one character (${n} bytes at ${p}; n = 0: an invalid byte) looks in a quoted value; returns
 * ${p} itself for one that needs nothing. C1 controls steer terminals just as C0 ones do. */
static struct slice
escape(const uint8_t *p, size_t n, char text[8])
{
    unsigned c = p[0];

    if (n == 1 && (c == '"' || c == '\\'))
        (void)snprintf(text, 8, "\\%c", (int)c);
    else if (n == 1 && (c == '\n' || c == '\r' || c == '\t'))
        (void)snprintf(text, 8, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (n == 0 && as_json)
        (void)snprintf(text, 8, "\\ufffd");
    else if (n == 0 || (n == 1 && (c < 0x20 || c == 0x7f) && !as_json))
        (void)snprintf(text, 8, "\\x%02x", c);
    else if (n == 1 && (c < 0x20 || c == 0x7f))
        (void)snprintf(text, 8, "\\u%04x", c);
    else if (n == 2 && c == 0xc2 && p[1] < 0xa0)
        (void)snprintf(text, 8, "\\u%04x", (unsigned)p[1]);
    else
        return slice_make(p, n);
    return slice_of(text);
}

static void
put_quoted(struct out *o, struct slice s)
{
    char text[8];

    while (s.n > 0) {
        size_t n = text_utf8(s);
        if (!put(o, escape(s.p, n, text)))
            break;
        s = slice_from(s, n == 0 ? 1 : n);
    }
    put_closing(o, '"');
}

/* Whether a value can stand without quotes in a text line. */
static bool
is_word(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7f || memchr("\"\\=", s.p[i], 3) != NULL)
            return false;
    return s.n > 0;
}

/* ` name=` or `,"name":` with what opens the value; false when the line has no room for it. */
static bool
put_name(struct out *o, const char *name, bool quoted)
{
    char text[32];
    int n =
        snprintf(text, sizeof(text), as_json ? ",\"%s\":%s" : " %s=%s", name, quoted ? "\"" : "");

    return put(o, slice_make(text, (size_t)n));
}

static void
put_field(struct out *o, const char *name, const char *value, bool always_quoted)
{
    struct slice s = slice_of(value);

    if (s.n == 0)
        return;
    if (!as_json && !always_quoted && is_word(s)) {
        if (put_name(o, name, false))
            (void)put(o, slice_to(s, sizeof(o->bytes) - CLOSING - o->n));
    } else if (put_name(o, name, true)) {
        put_quoted(o, s);
    }
}

/* Name and digits in one step: a name without its value would not be JSON. */
static void
put_number(struct out *o, const char *name, uint64_t value)
{
    uint8_t text[32 + NUM_TEXT];
    int n = snprintf((char *)text, 32, as_json ? ",\"%s\":" : " %s=", name);

    if (value != 0)
        (void)put(o, slice_make(text, (size_t)n + num_put_u64(text + n, value)));
}

static void
put_head(struct out *o, enum log_level level)
{
    int64_t wall_ns = clock_wall_ns(now);
    int64_t seconds = wall_ns / NS_PER_S - (wall_ns % NS_PER_S < 0 ? 1 : 0);
    struct civil c = clock_civil(seconds);
    char text[96];
    int n = snprintf(text, sizeof(text),
                     as_json ? "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",\"level\":\"%s\""
                             : "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ %-5s",
                     c.year, c.month, c.day, c.hour, c.minute, c.second,
                     (int)((wall_ns - seconds * NS_PER_S) / 1000000), level_names[level]);

    (void)put(o, slice_make(text, (size_t)n));
}

/* A standard error that is closed or full must not stop the daemon: what cannot be written is
 * lost. */
static void
write_line(const struct out *o)
{
    size_t done = 0;

    (void)pthread_mutex_lock(&lock);
    while (done < o->n) {
        ssize_t n = write(STDERR_FILENO, o->bytes + done, o->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void PRINTF_LIKE(3, 0)
    write_event(enum log_level level, const struct log_line *line, const char *format, va_list args)
{
    int saved = errno; /* logging between a failure and its handling changes nothing */
    struct out o = {.n = 0};
    char message[LINE_MAX_BYTES] = "";

    if (format != NULL && vsnprintf(message, sizeof(message), format, args) < 0)
        message[0] = '\0';
    put_head(&o, level);
    put_field(&o, "sink", line->sink, false);
    put_field(&o, "event", line->event, false);
    put_number(&o, "seq", line->seq);
    put_number(&o, "attempt", line->attempt);
    put_field(&o, "kind", line->kind, false);
    put_field(&o, "error", line->error, true);
    put_field(&o, "msg", message, true);
    if (as_json)
        put_closing(&o, '}');
    put_closing(&o, '\n');
    write_line(&o);
    errno = saved;
}

void
log_setup(enum log_level level, bool json, const struct clock *clock)
{
    wanted = level;
    as_json = json;
    now = clock;
}

bool
log_enabled(enum log_level level)
{
    return level <= wanted;
}

void
log_event(enum log_level level, const struct log_line *line, const char *format, ...)
{
    va_list args;

    if (!log_enabled(level))
        return;
    va_start(args, format);
    write_event(level, line, format, args);
    va_end(args);
}

void
log_info(const char *event, const char *format, ...)
{
    va_list args;

    if (!log_enabled(LOG_INFO))
        return;
    va_start(args, format);
    write_event(LOG_INFO, &(struct log_line){.event = event}, format, args);
    va_end(args);
}

void
log_warn(const char *event, const char *format, ...)
{
    va_list args;

    if (!log_enabled(LOG_WARN))
        return;
    va_start(args, format);
    write_event(LOG_WARN, &(struct log_line){.event = event}, format, args);
    va_end(args);
}

void
log_error(const char *event, const char *format, ...)
{
    va_list args;

    if (!log_enabled(LOG_ERROR))
        return;
    va_start(args, format);
    write_event(LOG_ERROR, &(struct log_line){.event = event}, format, args);
    va_end(args);
}

void
log_debug(const char *event, const char *format, ...)
{
    va_list args;

    if (!log_enabled(LOG_DEBUG))
        return;
    va_start(args, format);
    write_event(LOG_DEBUG, &(struct log_line){.event = event}, format, args);
    va_end(args);
}

/* A bucket that is measured in time: a line costs every_ms of it. */
bool
log_allow(struct log_limit *limit, int64_t now_ms)
{
    int64_t full = (int64_t)limit->burst * limit->every_ms;

    if (!limit->started) {
        limit->started = true;
        limit->tokens_ms = full;
    } else if (now_ms > limit->last_ms) {
        int64_t passed = now_ms - limit->last_ms;
        limit->tokens_ms = passed > full - limit->tokens_ms ? full : limit->tokens_ms + passed;
    }
    limit->last_ms = now_ms;
    if (limit->tokens_ms < limit->every_ms) {
        limit->held_back++;
        return false;
    }
    limit->tokens_ms -= limit->every_ms;
    return true;
}
