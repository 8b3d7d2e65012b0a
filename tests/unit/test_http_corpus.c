/*
 * test_http_corpus.c: the HTTP part of what a real InfluxDB 1.6.7 answered, through the state
 * machine.
 *
 * Vectors: tests/vectors/http_api.jsonl, the categories that need no handlers of substance.
 * Compared are the statuses in order, whether the connection is closed, Allow, and bodies of 404,
 * 405 and of chunk errors. Rows that differ on purpose stand below.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "support/http_drive.h"
#include "support/json_tree.h"

#define BODY_MAX 20000 /* the recorded server's max-body-size */
#define LINE_MAX_BYTES (4u << 20)

static const struct {
    const char *id, *reason;
} deviations[] = {
    {"http-0044", "another major version is answered with 505"},
    {"http-0048", "empty lines before a request are skipped: RFC 9112 section 2.2"},
    {"http-0052", "a folded line is refused: RFC 9112 section 5.2"},
    {"http-0053", "the same status; the text names the header, not the missing Host"},
    {"http-0059", "the body is bad, and not parsed here"},
    {"http-0067", "what cannot become HTTP is refused at once"},
};

static const char *
deviation(struct slice id)
{
    size_t i;

    for (i = 0; i < sizeof(deviations) / sizeof(deviations[0]); i++)
        if (slice_eq(slice_of(deviations[i].id), id))
            return deviations[i].reason;
    return NULL;
}

static bool
is_ours(const struct json_node *row)
{
    static const char *const categories[] = {"malformed", "chunked", "expect", "route", "ping"};
    size_t i;

    for (i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
        if (json_tree_is(json_tree_get(row, "category"), categories[i]))
            return true;
    return false;
}

/* wanted_statuses(row, out): "100 204 " */
static void
wanted_statuses(const struct json_node *row, char out[200])
{
    const struct json_node *responses = json_tree_get(row, "responses");
    size_t i, n = 0;

    out[0] = '\0';
    for (i = 0; i < responses->count && n < 190; i++)
        n += (size_t)snprintf(
            out + n, 200 - n, "%d ",
            (int)json_tree_i64(json_tree_get(json_tree_at(responses, i), "status")));
}

/* agrees(d, response): the parts of one recorded answer that do not hang on a handler. */
static bool
agrees(const struct http_drive *d, const struct json_node *response)
{
    const struct json_node *headers = json_tree_get(response, "headers");
    const struct json_node *allow = json_tree_get(headers, "allow");
    const struct json_node *body = json_tree_get(response, "body");
    int64_t status = json_tree_i64(json_tree_get(response, "status"));
    char text[400];

    if (allow != NULL) {
        (void)snprintf(text, sizeof(text), "\r\nAllow: %.*s\r\n", SLICE_PRI(allow->text));
        if (!http_drive_holds(d, text))
            return false;
    }
    if (body == NULL || body->text.n == 0 || status < 400 || body->text.n >= sizeof(text))
        return true;
    (void)snprintf(text, sizeof(text), "\r\n\r\n%.*s", SLICE_PRI(body->text));
    return http_drive_holds(d, text);
}

static bool
run(struct http_drive *d, const struct json_node *row, char got[200], char wanted[200])
{
    const struct json_node *responses = json_tree_get(row, "responses");
    struct buf request;
    size_t i;
    bool ok;

    buf_init(&request, 1u << 22);
    assert_int_equal(text_unbase64(&request, json_tree_get(row, "request_b64")->text), ERR_OK);
    (void)http_drive_feed(d, buf_peek(&request));
    if (json_tree_true(json_tree_get(row, "half_close")))
        http_drive_eof(d);
    buf_free(&request);
    wanted_statuses(row, wanted);
    ok = strcmp(http_drive_statuses(d, got), wanted) == 0;
    for (i = 0; i < responses->count; i++)
        ok = ok && agrees(d, json_tree_at(responses, i));
    return ok && (!json_tree_true(json_tree_get(row, "server_closed")) ||
                  http_server_is_finished(&d->conn));
}

static int
check_row(const struct json_node *row)
{
    struct slice id = json_tree_get(row, "id")->text;
    const char *reason = deviation(id);
    struct http_drive d;
    char got[200], wanted[200];
    bool same;

    http_drive_init(&d, BODY_MAX);
    same = run(&d, row, got, wanted);
    if (same != (reason == NULL))
        print_error("%.*s (%.*s): %s: \"%s\", recorded \"%s\"\n%.*s\n", SLICE_PRI(id),
                    SLICE_PRI(json_tree_get(row, "note")->text),
                    same ? "stands in the list without need" : "differs", got, wanted,
                    SLICE_PRI(buf_peek(&d.out)));
    http_drive_free(&d);
    return same == (reason == NULL) ? 0 : 1;
}

static FILE *
open_vectors(void)
{
    const char *root = getenv("SINKD_SRCDIR");
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/tests/vectors/http_api.jsonl",
                   root != NULL ? root : ".");
    return fopen(path, "r");
}

static void
the_recorded_answers_are_ours(void **state)
{
    FILE *file = open_vectors();
    char *line = malloc(LINE_MAX_BYTES);
    struct json_tree doc;
    int rows = 0, wrong = 0;

    (void)state;
    assert_non_null(file);
    assert_non_null(line);
    while (fgets(line, LINE_MAX_BYTES, file) != NULL) {
        assert_int_equal(json_tree_parse(&doc, slice_of(line)), ERR_OK);
        if (is_ours(doc.root)) {
            rows++;
            wrong += check_row(doc.root);
        }
        json_tree_free(&doc);
    }
    (void)fclose(file);
    free(line);
    assert_int_equal(rows, 70);
    assert_int_equal(wrong, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorded_answers_are_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
