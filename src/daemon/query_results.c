/*
 * query_results.c: see query_results.h.
 */
#include "daemon/query_results.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/text.h"

#define BYTES_MAX ((size_t)24 << 20)
#define CELLS_MAX ((size_t)1 << 20)

enum cell_kind { CELL_NULL, CELL_TEXT, CELL_U64, CELL_BOOL };

struct query_cell {
    enum cell_kind kind;
    uint64_t number; /* U64, BOOL; TEXT: its offset in bytes */
    size_t length;   /* TEXT */
};

struct query_result {
    size_t error_at, error_n; /* in bytes */
    bool failed;
    const char *message_level; /* NULL: none */
    size_t message_at, message_n;
    const char *name; /* NULL: no series */
    const char *const *columns;
    size_t column_count;
    size_t first_cell, cell_count;
};

void
query_results_init(struct query_results *r)
{
    *r = (struct query_results){0};
    buf_init(&r->bytes, BYTES_MAX);
}

void
query_results_free(struct query_results *r)
{
    mem_free(r->list);
    mem_free(r->cells);
    buf_wipe(&r->bytes);
    query_results_init(r);
}

/* Room for one more element of ${size} bytes. */
static void *
grow(void *list, size_t count, size_t *cap, size_t size, size_t max)
{
    size_t wanted = *cap < 16 ? 16 : *cap * 2;
    void *grown;

    if (count < *cap)
        return list;
    grown = count < max ? mem_resize(list, wanted * size) : NULL;
    if (grown != NULL)
        *cap = wanted;
    return grown;
}

void
query_results_begin(struct query_results *r)
{
    struct query_result *grown = grow(r->list, r->count, &r->cap, sizeof(*grown), 4096);

    if (grown == NULL) {
        r->err = ERR_NOMEM;
        return;
    }
    r->list = grown;
    r->list[r->count++] = (struct query_result){.first_cell = r->cell_count};
}

static struct query_result *
last(const struct query_results *r)
{
    return r->count > 0 ? &r->list[r->count - 1] : NULL;
}

static size_t
keep_bytes(struct query_results *r, struct slice text)
{
    size_t at = buf_len(&r->bytes);

    if (buf_add(&r->bytes, text) != ERR_OK)
        r->err = ERR_NOMEM;
    return at;
}

void
query_results_error(struct query_results *r, const char *format, ...)
{
    char text[1024];
    struct query_result *result = last(r);
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (result == NULL || r->err != ERR_OK)
        return;
    r->cell_count = result->first_cell;
    result->name = NULL;
    result->cell_count = 0;
    result->failed = true;
    result->error_n = strlen(text);
    result->error_at = keep_bytes(r, slice_of(text));
}

void
query_results_message(struct query_results *r, const char *level, struct slice text)
{
    struct query_result *result = last(r);

    if (result == NULL || r->err != ERR_OK)
        return;
    result->message_level = level;
    result->message_n = text.n;
    result->message_at = keep_bytes(r, text);
}

void
query_results_series(struct query_results *r, const char *name, const char *const *columns,
                     size_t count)
{
    struct query_result *result = last(r);

    assert(count <= QUERY_RESULT_COLUMNS);
    if (result == NULL || r->err != ERR_OK)
        return;
    result->name = name;
    result->columns = columns;
    result->column_count = count;
}

static void
add_cell(struct query_results *r, struct query_cell cell)
{
    struct query_result *result = last(r);
    struct query_cell *grown;

    if (result == NULL || r->err != ERR_OK)
        return;
    grown = grow(r->cells, r->cell_count, &r->cell_cap, sizeof(*grown), CELLS_MAX);
    if (grown == NULL) {
        r->err = ERR_NOMEM;
        return;
    }
    r->cells = grown;
    r->cells[r->cell_count++] = cell;
    result->cell_count++;
}

void
query_results_null(struct query_results *r)
{
    add_cell(r, (struct query_cell){CELL_NULL, 0, 0});
}

void
query_results_text(struct query_results *r, struct slice text)
{
    size_t at = keep_bytes(r, text);

    add_cell(r, (struct query_cell){CELL_TEXT, at, text.n});
}

void
query_results_u64(struct query_results *r, uint64_t value)
{
    add_cell(r, (struct query_cell){CELL_U64, value, 0});
}

void
query_results_bool(struct query_results *r, bool value)
{
    add_cell(r, (struct query_cell){CELL_BOOL, value, 0});
}

bool
query_results_failed(const struct query_results *r)
{
    return r->err != ERR_OK || (r->count > 0 && last(r)->failed);
}

static struct slice
bytes_at(const struct query_results *r, size_t at, size_t n)
{
    return slice_to(slice_from(buf_peek(&r->bytes), at), n);
}

const char *
query_results_first_error(const struct query_results *r, char *text, size_t size)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->list[i].failed) {
            slice_copy_text(bytes_at(r, r->list[i].error_at, r->list[i].error_n), text, size);
            return text;
        }
    }
    return NULL;
}

/* ---- writing ---- */

/* A text under way: its sink, its indentation, its first error. */
struct writer {
    const struct query_results *results;
    struct buf *out;
    bool pretty;
    unsigned depth;
    bool first; /* nothing in the present array or object yet */
    enum err err;
};

static void
put(struct writer *w, struct slice text)
{
    if (w->err == ERR_OK)
        w->err = buf_add(w->out, text);
}

static void
put_text(struct writer *w, const char *text)
{
    put(w, slice_of(text));
}

static void
new_line(struct writer *w)
{
    if (!w->pretty)
        return;
    put_text(w, "\n");
    for (unsigned i = 0; i < w->depth; i++)
        put_text(w, "    ");
}

/* Before each element: the comma after the one before it, and its line. */
static void
element(struct writer *w)
{
    if (!w->first)
        put_text(w, ",");
    w->first = false;
    new_line(w);
}

static void
open_bracket(struct writer *w, const char *bracket)
{
    put_text(w, bracket);
    w->depth++;
    w->first = true;
}

/* An empty array or object stays on its line. */
static void
close_bracket(struct writer *w, const char *bracket)
{
    w->depth--;
    if (!w->first)
        new_line(w);
    put_text(w, bracket);
    w->first = false;
}

static void
string(struct writer *w, struct slice text)
{
    if (w->err == ERR_OK)
        w->err = text_json(w->out, text);
}

static void
key(struct writer *w, const char *name)
{
    element(w);
    string(w, slice_of(name));
    put_text(w, w->pretty ? ": " : ":");
}

static void
number(struct writer *w, uint64_t value)
{
    uint8_t text[NUM_TEXT];

    put(w, slice_make(text, num_put_u64(text, value)));
}

static void
cell_value(struct writer *w, const struct query_cell *cell)
{
    switch (cell->kind) {
    case CELL_NULL:
        put_text(w, "null");
        break;
    case CELL_TEXT:
        string(w, bytes_at(w->results, (size_t)cell->number, cell->length));
        break;
    case CELL_U64:
        number(w, cell->number);
        break;
    case CELL_BOOL:
        put_text(w, cell->number != 0 ? "true" : "false");
        break;
    }
}

static void
series_values(struct writer *w, const struct query_result *result)
{
    const struct query_cell *cell = w->results->cells + result->first_cell;

    key(w, "values");
    open_bracket(w, "[");
    for (size_t i = 0; i < result->cell_count; i += result->column_count) {
        element(w);
        open_bracket(w, "[");
        for (size_t c = 0; c < result->column_count; c++) {
            element(w);
            cell_value(w, cell++);
        }
        close_bracket(w, "]");
    }
    close_bracket(w, "]");
}

static void
series(struct writer *w, const struct query_result *result)
{
    key(w, "series");
    open_bracket(w, "[");
    element(w);
    open_bracket(w, "{");
    if (result->name[0] != 0) {
        key(w, "name");
        string(w, slice_of(result->name));
    }
    key(w, "columns");
    open_bracket(w, "[");
    for (size_t c = 0; c < result->column_count; c++) {
        element(w);
        string(w, slice_of(result->columns[c]));
    }
    close_bracket(w, "]");
    if (result->cell_count > 0)
        series_values(w, result);
    close_bracket(w, "}");
    close_bracket(w, "]");
}

static void
message(struct writer *w, const struct query_result *result)
{
    key(w, "messages");
    open_bracket(w, "[");
    element(w);
    open_bracket(w, "{");
    key(w, "level");
    string(w, slice_of(result->message_level));
    key(w, "text");
    string(w, bytes_at(w->results, result->message_at, result->message_n));
    close_bracket(w, "}");
    close_bracket(w, "]");
}

static void
one_result(struct writer *w, size_t i)
{
    const struct query_result *result = &w->results->list[i];

    element(w);
    open_bracket(w, "{");
    key(w, "statement_id");
    number(w, i);
    if (result->name != NULL)
        series(w, result);
    if (result->message_level != NULL)
        message(w, result);
    if (result->failed) {
        key(w, "error");
        string(w, bytes_at(w->results, result->error_at, result->error_n));
    }
    close_bracket(w, "}");
}

/* One document with the results [from, to). */
static void
document(struct writer *w, size_t from, size_t to)
{
    open_bracket(w, "{");
    if (from < to) {
        key(w, "results");
        open_bracket(w, "[");
        for (size_t i = from; i < to; i++)
            one_result(w, i);
        close_bracket(w, "]");
    }
    close_bracket(w, "}");
    put_text(w, "\n");
}

/* A field as encoding/csv quotes it. */
static void
csv_field(struct writer *w, struct slice text)
{
    bool quote = text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t');

    for (size_t i = 0; i < text.n && !quote; i++)
        quote = strchr(",\"\r\n", text.p[i]) != NULL && text.p[i] != 0;
    if (!quote) {
        put(w, text);
        return;
    }
    put_text(w, "\"");
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"')
            put_text(w, "\"");
        put(w, slice_make(text.p + i, 1));
    }
    put_text(w, "\"");
}

static void
csv_row(struct writer *w, const struct query_result *result, const struct query_cell *cell)
{
    csv_field(w, slice_of(result->name));
    put_text(w, ",");
    for (size_t c = 0; c < result->column_count; c++, cell++) {
        put_text(w, ",");
        if (cell->kind == CELL_TEXT)
            csv_field(w, bytes_at(w->results, (size_t)cell->number, cell->length));
        else if (cell->kind != CELL_NULL)
            cell_value(w, cell);
    }
    put_text(w, "\n");
}

static void
csv_result(struct writer *w, const struct query_result *result)
{
    if (!result->failed && result->name == NULL)
        return;
    if (!w->first)
        put_text(w, "\n");
    w->first = false;
    if (result->failed) {
        put_text(w, "error\n");
        csv_field(w, bytes_at(w->results, result->error_at, result->error_n));
        put_text(w, "\n");
        return;
    }
    put_text(w, "name,tags");
    for (size_t c = 0; c < result->column_count; c++) {
        put_text(w, ",");
        csv_field(w, slice_of(result->columns[c]));
    }
    put_text(w, "\n");
    for (size_t i = 0; i < result->cell_count; i += result->column_count)
        csv_row(w, result, w->results->cells + result->first_cell + i);
}

enum err
query_results_write(const struct query_results *r, enum query_form form, struct buf *out)
{
    struct writer w = {r, out, form == QUERY_JSON_PRETTY, 0, true, r->err};

    switch (form) {
    case QUERY_JSON:
    case QUERY_JSON_PRETTY:
        document(&w, 0, r->count);
        break;
    case QUERY_JSON_CHUNKED:
        for (size_t i = 0; i < r->count; i++)
            document(&w, i, i + 1);
        if (r->count == 0)
            document(&w, 0, 0);
        break;
    case QUERY_CSV:
        for (size_t i = 0; i < r->count; i++)
            csv_result(&w, &r->list[i]);
        break;
    }
    return w.err;
}
