/*
 * cli_input.h: a file or standard input, read into a bounded buffer.
 */
#ifndef SINKD_CLI_CLI_INPUT_H
#define SINKD_CLI_CLI_INPUT_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct cli_input {
    int fd;           /* 0: standard input, not closed */
    const char *name; /* for messages */
    bool end;         /* there is no more */
    struct buf data;
};

/* cli_input_open(in, file, max, info): ${file} is kept; NULL and "-" are standard input. At most
 * ${max} bytes wait in ${in}->data. ERR_CONFIG: cannot be opened. cli_input_close() frees. */
enum err cli_input_open(struct cli_input *in, const char *file, size_t max,
                        struct errinfo *info) MUST_USE;
void cli_input_close(struct cli_input *in);

/*
 * cli_input_fill(in, wait_ms, info):
 * Read once, behind what is there. ${wait_ms}: how long to wait at most, -1: for ever.
 * Errors: ERR_TIMEOUT (nothing came), ERR_NOMEM (the buffer is full), ERR_IO. At the end: ERR_OK
 * and ${in}->end.
 */
enum err cli_input_fill(struct cli_input *in, int wait_ms, struct errinfo *info) MUST_USE;

/* cli_input_all(in, info): read to the end. ERR_RANGE (longer than the buffer may be), ERR_IO. */
enum err cli_input_all(struct cli_input *in, struct errinfo *info) MUST_USE;

/* cli_input_line(in, line, info): the next line without its end, valid until the next call; ERR_EOF
 * at the end. ERR_RANGE, ERR_IO. */
enum err cli_input_line(struct cli_input *in, struct slice *line, struct errinfo *info) MUST_USE;

#endif
