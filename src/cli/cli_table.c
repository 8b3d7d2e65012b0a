/*
 * cli_table.c: two passes over the rows: widths, then text.
 */
#include "cli/cli_table.h"

#include <string.h>

#include "cli/cli_out.h"

struct table {
    struct json columns, values;
    struct buf cell; /* one cell's text at a time */
    size_t width[CLI_TABLE_COLUMNS];
    bool number[CLI_TABLE_COLUMNS]; /* holds numbers and nulls only */
    size_t count;
};

static enum err
open_table(struct table *t, const struct json *series)
{
    memset(t, 0, sizeof(*t));
    buf_init(&t->cell, (size_t)64 << 20);
    if (!json_get(series, "columns", &t->columns) || t->columns.type != JSON_ARRAY)
        return ERR_BAD;
    if (json_get(series, "values", &t->values) && t->values.type != JSON_ARRAY)
        return ERR_BAD;
    return ERR_OK;
}

/* What ${v} is as text, into the table's cell. */
static enum err
read_cell(struct table *t, const struct json *v)
{
    buf_clear(&t->cell);
    switch (v->type) {
    case JSON_NULL:
        return ERR_OK;
    case JSON_STRING:
        return json_text(&t->cell, v->raw);
    case JSON_FALSE:
    case JSON_TRUE:
    case JSON_NUMBER:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return buf_add(&t->cell, v->raw);
}

/* The same as a terminal may have it. */
static enum err
read_clean(struct table *t, const struct json *v)
{
    struct buf clean;
    enum err err = read_cell(t, v);

    buf_init(&clean, (size_t)256 << 20);
    if (err == ERR_OK)
        err = cli_out_clean(&clean, buf_peek(&t->cell));
    buf_free(&t->cell);
    t->cell = clean;
    return err;
}

/* Columns on the screen: characters, whatever their bytes. */
static size_t
shown_width(struct slice s)
{
    size_t width = 0;

    for (size_t i = 0; i < s.n; i++)
        width += (s.p[i] & 0xC0) != 0x80;
    return width;
}

static enum err
put_blanks(struct buf *out, size_t n, uint8_t c)
{
    uint8_t *room = buf_reserve(out, n);

    if (room == NULL)
        return ERR_NOMEM;
    memset(room, c, n);
    buf_commit(out, n);
    return ERR_OK;
}

/* ${row} widens its columns. */
static enum err
measure_row(struct table *t, const struct json *row, bool header)
{
    struct json_walk w;
    struct json v;
    size_t i = 0;
    enum err err = ERR_OK;

    json_walk(&w, row);
    for (; err == ERR_OK && json_next(&w, NULL, &v); i++) {
        if (i == CLI_TABLE_COLUMNS)
            return ERR_RANGE;
        err = read_clean(t, &v);
        if (shown_width(buf_peek(&t->cell)) > t->width[i])
            t->width[i] = shown_width(buf_peek(&t->cell));
        if (header)
            t->number[i] = true;
        else
            t->number[i] = t->number[i] && (v.type == JSON_NUMBER || v.type == JSON_NULL);
    }
    if (i > t->count)
        t->count = i;
    return err;
}

/* ${line}: dashes under the header in place of its text. */
static enum err
put_row(struct table *t, const struct json *row, bool line, struct buf *out)
{
    struct json_walk w;
    struct json v;
    size_t pad = 0;
    enum err err = ERR_OK;

    json_walk(&w, row);
    for (size_t i = 0; err == ERR_OK && json_next(&w, NULL, &v); i++) {
        size_t width;

        err = read_clean(t, &v);
        width = shown_width(buf_peek(&t->cell));
        if (i > 0)
            pad++;
        if (t->number[i])
            pad += t->width[i] - width;
        if (err == ERR_OK && width > 0) {
            err = put_blanks(out, pad, ' ');
            pad = 0;
        }
        if (err == ERR_OK)
            err = line ? put_blanks(out, width, '-') : buf_add(out, buf_peek(&t->cell));
        if (!t->number[i])
            pad += t->width[i] - width;
    }
    return err == ERR_OK ? buf_add_byte(out, '\n') : err;
}

static enum err
put_title(struct table *t, const struct json *series, struct buf *out)
{
    struct json name;
    enum err err;

    if (!json_get(series, "name", &name))
        return ERR_OK;
    err = read_clean(t, &name);
    if (err == ERR_OK)
        err = buf_add_text(out, "name: ");
    if (err == ERR_OK)
        err = buf_add(out, buf_peek(&t->cell));
    return err == ERR_OK ? buf_add_byte(out, '\n') : err;
}

enum err
cli_table_put(struct buf *out, const struct json *series)
{
    struct table t;
    struct json_walk w;
    struct json row;
    enum err err = open_table(&t, series);

    if (err == ERR_OK)
        err = put_title(&t, series, out);
    if (err == ERR_OK)
        err = measure_row(&t, &t.columns, true);
    json_walk(&w, &t.values);
    while (err == ERR_OK && json_next(&w, NULL, &row))
        err = measure_row(&t, &row, false);
    for (size_t i = 0; i < t.count && t.values.type != JSON_ARRAY; i++)
        t.number[i] = false; /* no rows: nothing to line up with */
    if (err == ERR_OK)
        err = put_row(&t, &t.columns, false, out);
    if (err == ERR_OK)
        err = put_row(&t, &t.columns, true, out);
    json_walk(&w, &t.values);
    while (err == ERR_OK && json_next(&w, NULL, &row))
        err = put_row(&t, &row, false, out);
    buf_free(&t.cell);
    return err;
}

/* The table's cell as a field of CSV. */
static enum err
put_field(struct table *t, struct buf *out)
{
    struct slice s = buf_peek(&t->cell);
    enum err err;

    if (slice_find(s, ',') == s.n && slice_find(s, '"') == s.n && slice_find(s, '\n') == s.n &&
        slice_find(s, '\r') == s.n)
        return buf_add(out, s);
    err = buf_add_byte(out, '"');
    while (err == ERR_OK && s.n > 0) {
        size_t n = slice_find(s, '"');

        err = buf_add(out, slice_to(s, n));
        if (err == ERR_OK && n < s.n)
            err = buf_add_text(out, "\"\"");
        s = slice_from(s, n + 1);
    }
    return err == ERR_OK ? buf_add_byte(out, '"') : err;
}

/* A row behind its first field, which is ${first}. */
static enum err
put_fields(struct table *t, const struct json *first, const struct json *row, struct buf *out)
{
    struct json_walk w;
    struct json v;
    enum err err = ERR_OK;

    if (first != NULL) {
        err = read_cell(t, first);
        if (err == ERR_OK)
            err = put_field(t, out);
    } else {
        err = buf_add_text(out, "name");
    }
    json_walk(&w, row);
    while (err == ERR_OK && json_next(&w, NULL, &v)) {
        err = read_cell(t, &v);
        if (err == ERR_OK)
            err = buf_add_byte(out, ',');
        if (err == ERR_OK)
            err = put_field(t, out);
    }
    return err == ERR_OK ? buf_add_byte(out, '\n') : err;
}

enum err
cli_table_put_csv(struct buf *out, const struct json *series)
{
    struct table t;
    struct json_walk w;
    struct json row, name;
    enum err err = open_table(&t, series);

    (void)json_get(series, "name", &name);
    if (err == ERR_OK)
        err = put_fields(&t, NULL, &t.columns, out);
    json_walk(&w, &t.values);
    while (err == ERR_OK && json_next(&w, NULL, &row))
        err = put_fields(&t, &name, &row, out);
    buf_free(&t.cell);
    return err;
}
