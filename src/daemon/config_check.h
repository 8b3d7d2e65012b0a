/*
 * config_check.h: what only the whole configuration shows: reversed pairs, keys that need or
 * contradict others, keys of parts that the build lacks.
 */
#ifndef SINKD_DAEMON_CONFIG_CHECK_H
#define SINKD_DAEMON_CONFIG_CHECK_H

#include "daemon/config.h"
#include "daemon/config_report.h"

/* config_check(c, origins, report): ${origins} has one entry for each row of the table. Swaps
 * reversed pairs in ${c}; everything found goes to ${report}. */
void config_check(struct config *c, const struct config_origin *origins,
                  struct config_report *report);

#endif
