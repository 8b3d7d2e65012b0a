/*
 * h1_parse.h: HTTP/1.x heads, of requests and of responses.
 *
 * The caller gathers bytes; h1_parse_find says where the head ends, h1_parse_request and
 * h1_parse_response check it whole and say how the body is framed. Nothing is allocated: the
 * fields stay where they are and are looked up by walking them. Bodies: h1_body.h.
 * Strict where a second opinion about a message would be dangerous (RFC 9112 sections 2.2, 5, 6,
 * 11.2); a bare LF ends a line as well as CR LF does, a bare CR nowhere.
 * Source: RFC 9110, RFC 9112.
 */
#ifndef SINKD_HTTP_H1_PARSE_H
#define SINKD_HTTP_H1_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

/* The longest head, with its empty line. */
#define H1_HEAD_MAX 65536

enum h1_framing { H1_NONE, H1_LENGTH, H1_CHUNKED, H1_UNTIL_CLOSE };

struct h1_head {
    struct slice method, target; /* of a request */
    int status;                  /* of a response: 100..599 */
    struct slice reason;         /* of a response; may be empty */
    int minor;                   /* 0 for HTTP/1.0, else 1 */
    bool keep_alive;             /* what the sender of the head says about the connection */
    bool expects;                /* a request has an Expect field */
    bool expects_continue;       /* and it is 100-continue */
    enum h1_framing framing;
    uint64_t length;     /* of the body, with H1_LENGTH */
    struct slice fields; /* the field lines, checked: see h1_parse_next */
};

/* What is wrong, for the answer. */
struct h1_fault {
    int status;       /* 400, 431, 501, 505 */
    const char *text; /* static */
    bool in_body;     /* InfluxDB's answer has this very text in its body */
};

/* Where the search for the end of a head stopped; zeroed at the start of a message. */
struct h1_scan {
    size_t at;
    size_t line;  /* where the present line begins */
    size_t lines; /* lines before it that were not empty */
};

/*
 * h1_parse_find(scan, in, length, fault):
 * ${in} is all that came since the head began, the bytes of earlier calls included (and may reach
 * beyond the head). ERR_OK: the head is the first ${length} bytes. Empty lines before a request
 * line are part of it. Each byte is looked at once however the input is cut.
 * Errors: ERR_SHORT (bring more), ERR_BAD (a control byte, or the first line cannot be HTTP),
 * ERR_RANGE (no end within H1_HEAD_MAX); ${fault} is filled for both.
 */
enum err h1_parse_find(struct h1_scan *scan, struct slice in, size_t *length,
                       struct h1_fault *fault) MUST_USE;

/*
 * h1_parse_request(head, out, fault):
 * Parse a whole head, as h1_parse_find delimits it. All slices of ${out} point into ${head}.
 * Errors: ERR_BAD, ${fault} says what and with which status to answer.
 * Source: RFC 9112 sections 3, 5, 6.
 */
enum err h1_parse_request(struct slice head, struct h1_head *out, struct h1_fault *fault) MUST_USE;

/*
 * h1_parse_response(head, to_head, out, fault):
 * The same for a response; ${to_head}: the request was a HEAD, so there is no body. 1xx, 204 and
 * 304 have none either. Without a length and without chunks the body ends with the connection; a
 * length beside chunks is ignored and the connection is not to be kept.
 */
enum err h1_parse_response(struct slice head, bool to_head, struct h1_head *out,
                           struct h1_fault *fault) MUST_USE;

/* h1_parse_next(rest, name, value): cut the first field line off ${rest} (begin with head.fields);
 * false at the end. The value is without blanks at its ends. */
bool h1_parse_next(struct slice *rest, struct slice *name, struct slice *value);

/* h1_parse_field(head, name, value): the first field of that name, in any case; false, and
 * ${value} empty, if there is none. */
bool h1_parse_field(const struct h1_head *head, struct slice name, struct slice *value);

/* h1_parse_has_token(head, name, token): whether any field ${name} lists ${token}, in any case. */
bool h1_parse_has_token(const struct h1_head *head, struct slice name, struct slice token);

/* h1_parse_is_token(s): whether ${s} is one or more token characters (RFC 9110 section 5.6.2). */
bool h1_parse_is_token(struct slice s);

#endif
