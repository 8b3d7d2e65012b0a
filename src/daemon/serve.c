/*
 * serve.c: see serve.h.
 */
#include "daemon/serve.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "daemon/config.h"
#include "daemon/daemon.h"

extern char **environ;

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* -c FILE, or nothing. False: something else stands there. */
static bool
parse_arguments(int argc, char **argv, const char **path)
{
    *path = NULL;
    for (int i = 1; i < argc; i++) {
        if ((strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--config") == 0) && i + 1 < argc)
            *path = argv[++i];
        else if (strncmp(argv[i], "--config=", 9) == 0)
            *path = argv[i] + 9;
        else {
            fprintf(stderr, "sinkd %s: unknown argument %s; sinkd %s --help says more\n", argv[0],
                    argv[i], argv[0]);
            return false;
        }
    }
    return true;
}

static void
print_report(const struct config_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        fprintf(stderr, "%s%s\n",
                report->notes[i].is_error ? "" : "warning: ", report->notes[i].text);
    if (report->errors + report->warnings > report->count)
        fprintf(stderr, "and %zu more\n", report->errors + report->warnings - report->count);
}

int
serve_main(int argc, char **argv)
{
    struct config config;
    struct config_report report;
    const char *path;
    int status = EXIT_USAGE;
    enum err err;

    if (!parse_arguments(argc, argv, &path))
        return EXIT_USAGE;
    err = config_load(&config, path, environ, &report);
    print_report(&report);
    if (err == ERR_OK)
        status = daemon_run(&config, &clock_system);
    else if (err != ERR_CONFIG)
        fprintf(stderr, "sinkd serve: the configuration cannot be read: %s\n", err_name(err));
    config_report_free(&report);
    config_free(&config);
    return status;
}

int
serve_check_main(int argc, char **argv)
{
    struct config config;
    struct config_report report;
    const char *path;
    enum err err;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--data") == 0) {
            fprintf(stderr, "sinkd check: --data is not available in this version\n");
            return EXIT_FAILED;
        }
    }
    if (!parse_arguments(argc, argv, &path))
        return EXIT_USAGE;
    err = config_load(&config, path, environ, &report);
    print_report(&report);
    if (err == ERR_OK)
        printf("%s: ok\n", config.file != NULL ? config.file : "built-in defaults");
    config_report_free(&report);
    config_free(&config);
    return err == ERR_OK ? EXIT_OK : EXIT_USAGE;
}
