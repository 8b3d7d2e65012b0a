/*
 * secret_file.h: a secret that stands in a file, as password_file and bearer_token_file name one.
 */
#ifndef SINKD_SINK_SECRET_FILE_H
#define SINKD_SINK_SECRET_FILE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"

/* secret_file_read(path, out, info): the file's first line, without its line end; at most 8 KiB.
 * Errors: ERR_CONFIG (cannot be read, is empty or too long: the text names the file), ERR_NOMEM. */
enum err secret_file_read(struct slice path, struct secret *out, struct errinfo *info) MUST_USE;

#endif
