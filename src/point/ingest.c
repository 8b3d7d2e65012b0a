/*
 * ingest.c: see ingest.h.
 */
#include "point/ingest.h"

#include "point/ingest_parts.h"

enum ingest_event
ingest_next(struct ingest *in, struct lineproto_point *point, struct lineproto_bad *bad)
{
    if (in->problem != NULL)
        return INGEST_BROKEN;
    if (in->left == 0)
        return INGEST_END;
    in->left--;
    in->number++;
    return in->columns ? ingest_columns_next(in, point, bad) : ingest_rows_next(in, point, bad);
}

const char *
ingest_problem(const struct ingest *in, size_t *at)
{
    *at = (size_t)(in->r.p - in->start);
    return in->problem == NULL ? "" : in->problem;
}
