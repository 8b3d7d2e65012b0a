/*
 * sql_equal.c: whether two statements say the same. See sql_equal.h.
 */
#include "support/sql_equal.h"

static bool
equal_selectors(const struct sql_selector *a, size_t a_count, const struct sql_selector *b,
                size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (a[i].kind != b[i].kind || !slice_eq(a[i].text, b[i].text))
            return false;
    return true;
}

static bool
equal_options(const struct sql_sink *a, const struct sql_sink *b)
{
    if (a->option_count != b->option_count)
        return false;
    for (size_t i = 0; i < a->option_count; i++)
        if (a->options[i].kind != b->options[i].kind ||
            !slice_eq(a->options[i].key, b->options[i].key) ||
            !slice_eq(a->options[i].value, b->options[i].value))
            return false;
    return true;
}

static bool
equal_databases(const struct sql_sink *a, const struct sql_sink *b)
{
    if (a->database_count != b->database_count)
        return false;
    for (size_t i = 0; i < a->database_count; i++)
        if (!slice_eq(a->databases[i], b->databases[i]))
            return false;
    return true;
}

static bool
equal_sinks(const struct sql_sink *a, const struct sql_sink *b)
{
    return a->clauses == b->clauses && slice_eq(a->to, b->to) && a->type == b->type &&
           slice_eq(a->username, b->username) && slice_eq(a->password, b->password) &&
           a->format == b->format && a->include_all == b->include_all && equal_databases(a, b) &&
           equal_selectors(a->include, a->include_count, b->include, b->include_count) &&
           equal_selectors(a->exclude, a->exclude_count, b->exclude, b->exclude_count) &&
           a->batch_size == b->batch_size && a->flush_interval_ns == b->flush_interval_ns &&
           a->start == b->start && equal_options(a, b);
}

bool
sql_equal(const struct sql_statement *a, const struct sql_statement *b)
{
    return a->kind == b->kind && slice_eq(a->name, b->name) &&
           a->if_not_exists == b->if_not_exists && a->if_exists == b->if_exists &&
           a->has_id == b->has_id && a->has_limit == b->has_limit && a->id == b->id &&
           a->limit == b->limit && slice_eq(a->line, b->line) &&
           slice_eq(a->password, b->password) && a->admin == b->admin &&
           a->privilege == b->privilege && slice_eq(a->database, b->database) &&
           slice_eq(a->words, b->words) && equal_sinks(&a->sink, &b->sink);
}
