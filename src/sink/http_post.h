/*
 * http_post.h: what the HTTP sink types share: their options, the destination, the verdict on an
 * answer.
 *
 * A type makes bodies; this sends them with the headers and credentials of the definition and says
 * what the answer means for the points in them.
 */
#ifndef SINKD_SINK_HTTP_POST_H
#define SINKD_SINK_HTTP_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "http/http_client.h"
#include "sink/option.h"
#include "sink/sink.h"

/* The options that every HTTP type has; a type's own table begins with them. */
/* clang-format off */
#define HTTP_POST_OPTIONS \
    {"gzip", OPTION_BOOL, "false", 0, 0, NULL, "compress request bodies"}, \
    {"headers", OPTION_SECRET, "", 0, 16384, NULL, "more header lines: 'Name: value', one a line"}, \
    {"bearer_token", OPTION_SECRET, NULL, 1, 8192, NULL, "token for Authorization: Bearer"}, \
    {"bearer_token_file", OPTION_TEXT, NULL, 1, 4096, NULL, "file that holds the bearer token"}, \
    {"success_status", OPTION_TEXT, "200,201,202,204", 3, 200, NULL, \
     "answers that confirm delivery"}, \
    {"user_agent", OPTION_TEXT, "sinkd", 1, 200, NULL, "the User-Agent header"}
/* clang-format on */

struct http_post;

/* http_post_check(def, info): the URL and the options above. ERR_CONFIG. */
enum err http_post_check(const struct sink_def *def, struct errinfo *info) MUST_USE;

/* http_post_open(out, def, env, add_db, info): reads the files that options name. With ${add_db} a
 * URL without a `db` gets one: the database of the point. ERR_NOMEM, ERR_CONFIG. */
enum err http_post_open(struct http_post **out, const struct sink_def *def,
                        const struct sink_env *env, bool add_db, struct errinfo *info) MUST_USE;
void http_post_close(struct http_post *p);

/* The connection: as sink_type's calls of these names. */
enum err http_post_connect(struct http_post *p, int64_t deadline, struct outcome *outcome,
                           struct errinfo *info) MUST_USE;
enum err http_post_idle(struct http_post *p, int64_t until, struct errinfo *info) MUST_USE;
void http_post_disconnect(struct http_post *p);

/* http_post_one_target(p): every point goes to the same URL. */
bool http_post_one_target(const struct http_post *p);

/*
 * http_post_send(p, point, content_type, body, outcome, info):
 * POST ${body} to the target that ${point} gives, and judge the answer. ERR_OK exactly when the
 * answer confirmed it; else ${outcome} says what it means (its range is the caller's to fill) and
 * ${info} what the peer said, without secrets.
 */
enum err http_post_send(struct http_post *p, const struct batch_point *point,
                        const char *content_type, struct slice body, struct outcome *outcome,
                        struct errinfo *info) MUST_USE;

/* Requests that may be sent ahead of their answers. */
#define HTTP_POST_AHEAD HTTP_CLIENT_PIPELINE

/*
 * http_post_push(p, point, content_type, body, outcome, info): as http_post_send without the wait
 * for the answer. Errors: ERR_BUSY (not sent: the peer will take no more before its answers are
 * read); others: the connection is closed, what waits for an answer is not confirmed.
 * http_post_pull(p, outcome, info): the verdict on the oldest request that waits; as
 * http_post_send.
 * http_post_waiting(p): how many wait; 0 once the connection is closed, by an answer too.
 * http_post_is_stale(p): the last error was that of an idle connection which the peer had closed:
 * sending again at once is right.
 */
enum err http_post_push(struct http_post *p, const struct batch_point *point,
                        const char *content_type, struct slice body, struct outcome *outcome,
                        struct errinfo *info) MUST_USE;
enum err http_post_pull(struct http_post *p, struct outcome *outcome,
                        struct errinfo *info) MUST_USE;
size_t http_post_waiting(const struct http_post *p);
bool http_post_is_stale(const struct http_post *p);

#endif
