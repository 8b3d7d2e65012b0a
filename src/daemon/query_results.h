/*
 * query_results.h: results of statements, and the two forms they are sent in.
 *
 * A request's results are gathered first, bounded, then written as InfluxDB 1.x does: JSON
 * {"results":[{"statement_id":0,"series":[...]}]} or CSV. A result has at most one series here.
 */
#ifndef SINKD_DAEMON_QUERY_RESULTS_H
#define SINKD_DAEMON_QUERY_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define QUERY_RESULT_COLUMNS 20

struct query_result; /* of one statement */

struct query_results {
    struct query_result *list;
    size_t count, cap;
    struct query_cell *cells; /* private, as the rest */
    size_t cell_count, cell_cap;
    struct buf bytes;
    enum err
        err; /* sticky: ERR_NOMEM when a limit was passed; what is there is then not to be sent */
};

void query_results_init(struct query_results *r);
void query_results_free(struct query_results *r);

/* query_results_begin(r): the next statement's result; empty so far, which means success. */
void query_results_begin(struct query_results *r);

/* Of the result begun last. query_results_error() takes back its series. */
void query_results_error(struct query_results *r, const char *format, ...) PRINTF_LIKE(2, 3);
void query_results_message(struct query_results *r, const char *level, struct slice text);
void query_results_series(struct query_results *r, const char *name, const char *const *columns,
                          size_t count); /* name and columns: static */

/* The cells, row by row, as many a row as there are columns. */
void query_results_null(struct query_results *r);
void query_results_text(struct query_results *r, struct slice text);
void query_results_u64(struct query_results *r, uint64_t value);
void query_results_bool(struct query_results *r, bool value);

/* query_results_failed(r): whether the last result is an error. */
bool query_results_failed(const struct query_results *r);

/* query_results_first_error(r, text, size): the first error's text in ${text}, which is returned;
 * NULL without. */
const char *query_results_first_error(const struct query_results *r, char *text, size_t size);

enum query_form { QUERY_JSON, QUERY_JSON_PRETTY, QUERY_JSON_CHUNKED, QUERY_CSV };

/* query_results_write(r, form, out): append the whole answer's body. CHUNKED: one document a
 * result. ERR_NOMEM. */
enum err query_results_write(const struct query_results *r, enum query_form form,
                             struct buf *out) MUST_USE;

#endif
