/*
 * point_forms.h: a stored line written in a form, read back by other means and compared.
 *
 * JSON is read by the strict reader json_tree.h; MessagePack by the ingest of the program, whose
 * line is then compared part by part, so both directions are seen. Each gives NULL, or what is
 * wrong.
 */
#ifndef SINKD_SUPPORT_POINT_FORMS_H
#define SINKD_SUPPORT_POINT_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

const char *point_forms_json(struct slice line, int64_t time_ns);
const char *point_forms_rows(struct slice line, int64_t time_ns);

/* A column for each float field, a row for the rest. */
const char *point_forms_columns(struct slice line, int64_t time_ns);

/* point_forms_all(line, time_ns): all of them. */
const char *point_forms_all(struct slice line, int64_t time_ns);

#endif
