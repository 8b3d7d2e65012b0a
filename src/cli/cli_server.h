/*
 * cli_server.h: which daemon a command talks to and as whom: the options that all of them share.
 */
#ifndef SINKD_CLI_CLI_SERVER_H
#define SINKD_CLI_CLI_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"
#include "cli/cli_args.h"

struct cli_server {
    /* As given; NULL: not given. */
    const char *url, *user, *password_file, *cacert;
    bool insecure;

    /* What cli_server_resolve makes of it. */
    struct buf text;   /* the URL, whole */
    struct slice host; /* in ${text} */
    uint16_t port;
    bool tls;
    struct slice path; /* of the URL, without a '/' at its end; in ${text} */
    struct secret password;
};

/* The rows for these options in the table of a command; ${s} is a struct cli_server. */
#define CLI_SERVER_ARGS(s)                                                                \
    {'H', "url", &(s).url, NULL}, {'u', "user", &(s).user, NULL},                         \
        {0, "password-file", &(s).password_file, NULL}, {0, "cacert", &(s).cacert, NULL}, \
    {                                                                                     \
        0, "insecure", NULL, &(s).insecure                                                \
    }
#define CLI_SERVER_ARG_COUNT 5

#define CLI_SERVER_URL "http://127.0.0.1:8086"

/*
 * cli_server_resolve(s, info):
 * Fill in from SINKD_URL and SINKD_USER what was not given, take the URL apart and get the password
 * of a user. A host alone is taken for http://HOST.
 * Owns:   what it holds is freed by cli_server_free, whatever is returned.
 * Errors: ERR_CONFIG (a URL that is none, that holds a password or asks for what the build lacks),
 *         those of cli_password_get.
 */
enum err cli_server_resolve(struct cli_server *s, struct errinfo *info) MUST_USE;
void cli_server_free(struct cli_server *s);

#endif
