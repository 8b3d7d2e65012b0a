/*
 * cli_cut.h: a stream of line protocol cut into bodies for /write.
 *
 * Cut at line ends only, and at no line feed inside a string: the daemon must see the lines as they
 * were meant. Pure.
 */
#ifndef SINKD_CLI_CLI_CUT_H
#define SINKD_CLI_CLI_CUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define CLI_CUT_POINTS 5000u   /* of one body */
#define CLI_CUT_BYTES 1000000u /* of one body, unless one line is longer */

enum cli_cut_when {
    CLI_CUT_FULL,  /* only a body that has reached a limit */
    CLI_CUT_LINES, /* what whole lines there are: more may come, but not soon */
    CLI_CUT_END    /* all: nothing more comes */
};

struct cli_cut {
    size_t bytes;
    uint64_t lines;  /* line feeds in it, and the last line if it has none */
    uint64_t points; /* lines that are neither blank nor a comment */
    uint64_t first;  /* the first point's line, from 1, counted within the body */
};

/*
 * cli_cut_next(text, when, cut):
 * The next body: the first ${cut}->bytes of ${text}. At the end that may hold no point.
 * Errors: ERR_SHORT: bring more bytes, or wait; never with CLI_CUT_END unless ${text} is empty.
 */
enum err cli_cut_next(struct slice text, enum cli_cut_when when, struct cli_cut *cut) MUST_USE;

/*
 * cli_cut_verdict(text, line, dropped):
 * Take the end off the text of a 400, "... (line 3) dropped=2": the line within the body and how
 * many points were refused, 0 where it does not say. Returns the text before it.
 */
struct slice cli_cut_verdict(struct slice text, uint64_t *line, uint64_t *dropped);

#endif
