/*
 * cli_result.c: walking the envelope of InfluxDB's answers.
 */
#include "cli/cli_result.h"

static enum err
put_note(struct buf *notes, const char *what, const struct json *text)
{
    enum err err = buf_add_text(notes, what);

    if (err == ERR_OK)
        err = text->type == JSON_STRING ? json_text(notes, text->raw) : buf_add(notes, text->raw);
    return err == ERR_OK ? buf_add_byte(notes, '\n') : err;
}

static enum err
put_messages(struct buf *notes, const struct json *result)
{
    struct json messages, one, level, text;
    struct json_walk w;
    enum err err = ERR_OK;

    (void)json_get(result, "messages", &messages);
    json_walk(&w, &messages);
    while (err == ERR_OK && json_next(&w, NULL, &one)) {
        (void)json_get(&one, "level", &level);
        if (json_get(&one, "text", &text))
            err = put_note(notes, json_is(level.raw, "warning") ? "warning: " : "", &text);
    }
    return err;
}

static enum err
put_series(struct buf *out, const struct json *result, enum cli_format format)
{
    struct json all, one;
    struct json_walk w;
    enum err err = ERR_OK;

    (void)json_get(result, "series", &all);
    json_walk(&w, &all);
    while (err == ERR_OK && json_next(&w, NULL, &one)) {
        if (buf_len(out) > 0)
            err = buf_add_byte(out, '\n');
        if (err == ERR_OK)
            err =
                format == CLI_FORMAT_CSV ? cli_table_put_csv(out, &one) : cli_table_put(out, &one);
    }
    return err;
}

static enum err
put_result(struct buf *out, struct buf *notes, const struct json *result, enum cli_format format,
           bool *failed)
{
    struct json error;
    enum err err = put_messages(notes, result);

    if (err == ERR_OK && json_get(result, "error", &error)) {
        *failed = true;
        err = put_note(notes, "", &error);
    }
    if (err == ERR_OK && format != CLI_FORMAT_JSON)
        err = put_series(out, result, format);
    return err;
}

enum err
cli_result_put(struct buf *out, struct buf *notes, struct slice body, enum cli_format format,
               bool *failed)
{
    struct json root, all, one, error;
    struct json_walk w;
    enum err err = json_parse(body, &root);

    *failed = false;
    if (err != ERR_OK || root.type != JSON_OBJECT)
        return ERR_BAD;
    if (format == CLI_FORMAT_JSON) {
        err = buf_add(out, body);
        if (err == ERR_OK && !slice_ends(body, SLICE("\n")))
            err = buf_add_byte(out, '\n');
    }
    if (err == ERR_OK && json_get(&root, "error", &error)) {
        *failed = true;
        err = put_note(notes, "", &error);
    }
    (void)json_get(&root, "results", &all);
    json_walk(&w, &all);
    while (err == ERR_OK && json_next(&w, NULL, &one))
        err = put_result(out, notes, &one, format, failed);
    return err;
}

enum err
cli_result_series(struct slice body, struct json *series, struct buf *error)
{
    struct json root, v;
    struct json_walk w;

    if (json_parse(body, &root) != ERR_OK || root.type != JSON_OBJECT)
        return ERR_BAD;
    (void)json_get(&root, "results", &v);
    json_walk(&w, &v);
    if (!json_get(&root, "error", &v)) {
        struct json result;

        if (!json_next(&w, NULL, &result))
            return ERR_BAD;
        if (!json_get(&result, "error", &v)) {
            (void)json_get(&result, "series", &v);
            json_walk(&w, &v);
            return json_next(&w, NULL, series) ? ERR_OK : ERR_SHORT;
        }
    }
    return v.type != JSON_STRING || json_text(error, v.raw) != ERR_OK ? ERR_BAD : ERR_DENIED;
}
