/*
 * config_report.h: adding to the bounded list of findings of config.h, with the place in front.
 */
#ifndef SINKD_DAEMON_CONFIG_REPORT_H
#define SINKD_DAEMON_CONFIG_REPORT_H

#include <stdbool.h>

#include "base/attr.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"

/* Where a key's value came from. */
struct config_origin {
    unsigned line;    /* of the file; 0: not from the file */
    bool environment; /* from the environment, whatever the file said */
};

#define CONFIG_VARIABLE_PREFIX "SINKD__"
#define CONFIG_VARIABLE_MAX 96

/* config_report_variable(out, k): the name of the key's environment variable. Returns ${out}. */
char *config_report_variable(char out[CONFIG_VARIABLE_MAX], const struct config_key *k);

/* config_report_add(report, is_error, format, ...): beyond CONFIG_NOTES (or without memory) a
 * finding is counted, not listed. */
void config_report_add(struct config_report *report, bool is_error, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* config_report_key(report, is_error, file, origin, k, text): the same, as "FILE:LINE: key: text"
 * or "VARIABLE: text". */
void config_report_key(struct config_report *report, bool is_error, const char *file,
                       struct config_origin origin, const struct config_key *k, const char *text);

#endif
