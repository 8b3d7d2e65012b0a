/*
 * databases.h: the names that SHOW DATABASES lists.
 *
 * A database is only a name: any may be written to, the first write lists it. Names are kept in the
 * store. Belongs to the loop's thread.
 */
#ifndef SINKD_DAEMON_DATABASES_H
#define SINKD_DAEMON_DATABASES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "daemon/mailbox.h"
#include "store/committer.h"
#include "store/store.h"

struct databases;

/* More names than this are not listed: a client must not be able to fill the store with them. */
#define DATABASES_MAX 10000

enum err databases_open(struct databases **out, struct store *store, struct committer *committer,
                        struct mailbox *mailbox, struct errinfo *info) MUST_USE;
/* databases_close(d): after the committer stopped and its mail was delivered. NULL does nothing. */
void databases_close(struct databases *d);

/* databases_is_valid(name): 1 to 200 printable bytes, no slash, no backslash, neither "." nor
 * "..". */
bool databases_is_valid(struct slice name);

size_t databases_count(const struct databases *d);
struct slice databases_at(const struct databases *d, size_t i); /* in order */
bool databases_has(const struct databases *d, struct slice name);

/* databases_note(d, name): a write came for it: list it, soon also durably. */
void databases_note(struct databases *d, struct slice name);

/*
 * databases_create(d, name, done, arg, info), databases_drop(...):
 * ${done}(arg, result, info) comes later, once it is committed; not when an error is returned.
 * Errors: ERR_NOMEM, ERR_RANGE (too many).
 */
typedef void databases_done(void *arg, enum err result, const struct errinfo *info);
enum err databases_create(struct databases *d, struct slice name, databases_done *done, void *arg,
                          struct errinfo *info) MUST_USE;
enum err databases_drop(struct databases *d, struct slice name, databases_done *done, void *arg,
                        struct errinfo *info) MUST_USE;

#endif
