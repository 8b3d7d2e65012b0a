/*
 * cli_password.h: where a command's password comes from: never from the command line, which every
 * user of the machine can read.
 */
#ifndef SINKD_CLI_CLI_PASSWORD_H
#define SINKD_CLI_CLI_PASSWORD_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"

/*
 * cli_password_get(out, user, file, info):
 * The first line of ${file} if one is given; else SINKD_PASSWORD; else the terminal, with the echo
 * off.
 * Errors: ERR_CONFIG (the file cannot be read; nothing is set and there is no terminal), ERR_STOP
 *         (the user gave up), ERR_NOMEM.
 */
enum err cli_password_get(struct secret *out, const char *user, const char *file,
                          struct errinfo *info) MUST_USE;

/* cli_password_file(out, file, info): the first line of ${file}, at most 4,095 bytes. */
enum err cli_password_file(struct secret *out, const char *file, struct errinfo *info) MUST_USE;

#endif
