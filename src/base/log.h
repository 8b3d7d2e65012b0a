/*
 * log.h: the daemon's log lines, on standard error.
 *
 * One line an event: time, level, event and a small fixed set of fields. The events are a fixed
 * vocabulary (short lower-case words that docs/user-guide/reference.md lists); payloads and
 * secrets never come here. Any thread may log; a line is written whole.
 *
 *   text:  2026-11-30T22:50:08.123Z info  sink=my_kafka event=retry attempt=1 error="..."
 *   json:  {"time":"...","level":"info","sink":"my_kafka","event":"retry","attempt":1,...}
 */
#ifndef SINKD_BASE_LOG_H
#define SINKD_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* log_setup(level, json, clock): once, before the first thread. Until then: info, text. */
void log_setup(enum log_level level, bool json, const struct clock *clock);

bool log_enabled(enum log_level level);

/* A log line to be: fields that are NULL, empty or 0 are left out. */
struct log_line {
    const char *event; /* required */
    const char *sink;  /* a sink's name */
    uint64_t seq;      /* a sequence number */
    unsigned attempt;  /* which retry */
    const char *kind;  /* failure class: connect, timeout, auth, ... */
    const char *error; /* text of a failure */
};

/*
 * log_event(level, line, format, ...):
 * Write one line; the formatted text (format may be NULL) is its "msg". Control bytes and invalid
 * UTF-8 are escaped, the line is cut at 1 KiB.
 */
void log_event(enum log_level level, const struct log_line *line, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Short forms for what belongs to no sink. */
void log_info(const char *event, const char *format, ...) PRINTF_LIKE(2, 3);
void log_warn(const char *event, const char *format, ...) PRINTF_LIKE(2, 3);
void log_error(const char *event, const char *format, ...) PRINTF_LIKE(2, 3);
void log_debug(const char *event, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * A rate limit for one kind of line: at most ${burst} lines, refilled at one per ${every_ms}. Not
 * locked: its owner is one thread.
 */
struct log_limit {
    unsigned burst;
    int64_t every_ms;
    int64_t tokens_ms; /* private: zero at first means full */
    int64_t last_ms;
    bool started;
    unsigned held_back; /* lines not written: the owner says so in the next line and sets it to 0 */
};

/* log_allow(limit, now_ms): whether a line may be written now; counts it. */
bool log_allow(struct log_limit *limit, int64_t now_ms);

#endif
