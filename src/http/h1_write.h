/*
 * h1_write.h: heads of responses and requests as bytes, and the answers InfluxDB clients know.
 *
 * Appends to a bounded buffer; on ERR_NOMEM nothing of the call is left in it.
 * Source: RFC 9112 sections 3 and 4; InfluxDB 1.x for the header set of answers.
 */
#ifndef SINKD_HTTP_H1_WRITE_H
#define SINKD_HTTP_H1_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* An IMF-fixdate with its NUL: "Mon, 30 Nov 2026 20:40:03 GMT". */
#define H1_DATE_TEXT 32

/* h1_write_date(out, seconds): the date of seconds since 1970, RFC 9110 section 5.6.7. Returns
 * ${out}. */
char *h1_write_date(char out[H1_DATE_TEXT], int64_t seconds);

/* h1_write_reason(status): "No Content"; "Unknown" for one that has no name here. A static
 * string. */
const char *h1_write_reason(int status);

/* h1_write_status(out, minor, status): "HTTP/1.1 204 No Content\r\n". */
enum err h1_write_status(struct buf *out, int minor, int status) MUST_USE;

/* h1_write_request(out, method, target): "POST /write?db=a HTTP/1.1\r\n". ERR_BAD: a blank or
 * control byte in either. */
enum err h1_write_request(struct buf *out, struct slice method, struct slice target) MUST_USE;

/* h1_write_field(out, name, value): "Name: value\r\n". ERR_BAD: ${name} is no token, or ${value}
 * has a control byte other than a tab. */
enum err h1_write_field(struct buf *out, const char *name, struct slice value) MUST_USE;

/* h1_write_length(out, n): "Content-Length: n\r\n". */
enum err h1_write_length(struct buf *out, uint64_t n) MUST_USE;

/* h1_write_chunk(out, data): one chunk; an empty one is the last and ends the body. */
enum err h1_write_chunk(struct buf *out, struct slice data) MUST_USE;

/* h1_write_error_json(out, text): {"error":"text"} and a newline, escaped as InfluxDB does. */
enum err h1_write_error_json(struct buf *out, struct slice text) MUST_USE;

/* The same as InfluxDB writes it for pretty=true, and as CSV. */
enum err h1_write_error_pretty(struct buf *out, struct slice text) MUST_USE;
enum err h1_write_error_csv(struct buf *out, struct slice text) MUST_USE;

/* h1_write_error_text(out, text): ${text} as the value of X-Influxdb-Error: at most 1024 bytes,
 * CR and LF as blanks, other control bytes left out. */
enum err h1_write_error_text(struct buf *out, struct slice text) MUST_USE;

/* h1_write_uuid(out, bytes): the text form of a random (version 4) UUID made of 16 bytes, with a
 * NUL. */
#define H1_UUID_TEXT 37
char *h1_write_uuid(char out[H1_UUID_TEXT], const uint8_t bytes[16]);

#endif
