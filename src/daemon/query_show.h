/*
 * query_show.h: the listings: SHOW SINKS, SHOW SINK, SHOW LEDGER, SHOW DATABASES.
 *
 * Shapes as docs/user-guide/reference.md has them. No secret is ever in one.
 */
#ifndef SINKD_DAEMON_QUERY_SHOW_H
#define SINKD_DAEMON_QUERY_SHOW_H

#include "daemon/databases.h"
#include "daemon/query_results.h"
#include "daemon/supervisor.h"

void query_show_sinks(struct query_results *r, struct supervisor *s);
void query_show_sink(struct query_results *r, struct supervisor *s, const struct sink_def *def);
void query_show_ledger(struct query_results *r, struct supervisor *s);
void query_show_databases(struct query_results *r, const struct databases *d);

#endif
