/*
 * guard.h: bytes laid right before memory that nobody may touch, so that a test sees a read past
 * the end at once, without a sanitizer. For tests only.
 */
#ifndef SINKD_SUPPORT_GUARD_H
#define SINKD_SUPPORT_GUARD_H

#include "base/slice.h"

/*
 * guard_copy(s):
 * A copy of ${s} whose last byte is the last one of its page; the page behind it can be neither
 * read nor written, and the copy itself can be written. An empty slice points right at the closed
 * page.
 * Owns: the caller gives it back with guard_free. Ends the program when there is no memory.
 */
struct slice guard_copy(struct slice s);

/* guard_free(s): ${s} as guard_copy returned it. Reading it afterwards ends the program. */
void guard_free(struct slice s);

#endif
