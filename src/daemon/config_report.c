/*
 * config_report.c: the findings of one reading, bounded in number and length.
 */
#include "daemon/config_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

char *
config_report_variable(char out[CONFIG_VARIABLE_MAX], const struct config_key *k)
{
    (void)snprintf(out, CONFIG_VARIABLE_MAX, "%s%s__%s", CONFIG_VARIABLE_PREFIX, k->section,
                   k->key);
    for (char *p = out; *p != '\0'; p++) {
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    }
    return out;
}

void
config_report_add(struct config_report *report, bool is_error, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (is_error)
        report->errors++;
    else
        report->warnings++;
    if (report->count == CONFIG_NOTES)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report->notes[report->count].is_error = is_error;
    report->notes[report->count].text = mem_text(slice_of(text));
    if (report->notes[report->count].text != NULL)
        report->count++;
}

void
config_report_key(struct config_report *report, bool is_error, const char *file,
                  struct config_origin origin, const struct config_key *k, const char *text)
{
    char variable[CONFIG_VARIABLE_MAX];

    if (origin.environment)
        config_report_add(report, is_error, "%s: %s", config_report_variable(variable, k), text);
    else if (origin.line > 0)
        config_report_add(report, is_error, "%s:%u: %s.%s: %s", file, origin.line, k->section,
                          k->key, text);
    else
        config_report_add(report, is_error, "%s.%s: %s", k->section, k->key, text);
}

void
config_report_free(struct config_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        mem_free(report->notes[i].text);
    *report = (struct config_report){.count = 0};
}
