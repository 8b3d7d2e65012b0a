/*
 * http_snippet.h: what a peer said in the body of an error answer, short and printable.
 *
 * Not for: answers to 401 and 403, which are never quoted; and masking: the caller runs
 * secret_mask over what it shows.
 */
#ifndef SINKD_HTTP_HTTP_SNIPPET_H
#define SINKD_HTTP_HTTP_SNIPPET_H

#include "base/slice.h"

#define HTTP_SNIPPET_TEXT 124

/*
 * http_snippet_make(out, body):
 * The text of the member "error" (or "message") of a JSON object, else the start of the body;
 * control bytes and runs of blanks become one blank, bytes that are no UTF-8 become '?'; cut to
 * 120 bytes with "..." behind; empty for an empty body. NUL-terminated. Returns ${out}.
 */
char *http_snippet_make(char out[HTTP_SNIPPET_TEXT], struct slice body);

#endif
