/*
 * databases.c: see databases.h.
 */
#include "daemon/databases.h"

#include "base/container.h"
#include "base/mem.h"
#include "base/text.h"

#define META_DATABASE "meta_db:"
#define NAME_MAX_BYTES 200

struct databases {
    struct committer *committer;
    struct mailbox *mailbox;
    char **names; /* in order */
    size_t count, cap;
};

/* One change on its way through the committer. */
struct change {
    struct databases *d;
    struct committer_op op;
    struct committer_change change;
    struct mail mail;
    enum err result;
    struct errinfo info;
    databases_done *done; /* NULL: nobody waits */
    void *arg;
    char key[sizeof(META_DATABASE) + NAME_MAX_BYTES];
};

bool
databases_is_valid(struct slice name)
{
    if (name.n == 0 || name.n > NAME_MAX_BYTES || slice_eq(name, SLICE(".")) ||
        slice_eq(name, SLICE("..")) || !text_is_utf8(name))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] < 0x20 || name.p[i] == 0x7f || name.p[i] == '/' || name.p[i] == '\\')
            return false;
    }
    return true;
}

static size_t
place_of(const struct databases *d, struct slice name, bool *found)
{
    size_t low = 0, high = d->count;

    *found = false;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = slice_cmp(slice_of(d->names[middle]), name);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum err
insert(struct databases *d, struct slice name)
{
    bool found;
    size_t at = place_of(d, name, &found);
    char *copy;

    if (found)
        return ERR_OK;
    if (d->count == DATABASES_MAX)
        return ERR_RANGE;
    if (d->count == d->cap) {
        size_t cap = d->cap < 16 ? 16 : d->cap * 2;
        char **grown = mem_resize(d->names, cap * sizeof(*grown));

        if (grown == NULL)
            return ERR_NOMEM;
        d->names = grown;
        d->cap = cap;
    }
    copy = mem_text(name);
    if (copy == NULL)
        return ERR_NOMEM;
    memmove(&d->names[at + 1], &d->names[at], (d->count - at) * sizeof(d->names[0]));
    d->names[at] = copy;
    d->count++;
    return ERR_OK;
}

static void
take_out(struct databases *d, struct slice name)
{
    bool found;
    size_t at = place_of(d, name, &found);

    if (!found)
        return;
    mem_free(d->names[at]);
    d->count--;
    memmove(&d->names[at], &d->names[at + 1], (d->count - at) * sizeof(d->names[0]));
}

struct loading {
    struct databases *d;
    enum err err;
};

static void
load_one(void *arg, struct slice key, struct slice value)
{
    struct loading *loading = arg;

    (void)value;
    if (loading->err == ERR_OK)
        loading->err = insert(loading->d, slice_from(key, sizeof(META_DATABASE) - 1));
}

enum err
databases_open(struct databases **out, struct store *store, struct committer *committer,
               struct mailbox *mailbox, struct errinfo *info)
{
    struct databases *d = mem_zalloc(sizeof(*d));
    struct loading loading = {d, ERR_OK};
    enum err err;

    if (d == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for the names of databases");
    d->committer = committer;
    d->mailbox = mailbox;
    err = store_each_meta(store, SLICE(META_DATABASE), load_one, &loading, info);
    if (err == ERR_OK && loading.err != ERR_OK)
        err = errinfo_set(info, loading.err, "no memory for the names of databases");
    if (err != ERR_OK) {
        databases_close(d);
        return err;
    }
    *out = d;
    return ERR_OK;
}

void
databases_close(struct databases *d)
{
    if (d == NULL)
        return;
    for (size_t i = 0; i < d->count; i++)
        mem_free(d->names[i]);
    mem_free(d->names);
    mem_free(d);
}

size_t
databases_count(const struct databases *d)
{
    return d->count;
}

struct slice
databases_at(const struct databases *d, size_t i)
{
    return slice_of(d->names[i]);
}

bool
databases_has(const struct databases *d, struct slice name)
{
    bool found;

    (void)place_of(d, name, &found);
    return found;
}

/* ---- changes ---- */

/* On the loop's thread. */
static void
change_is_over(struct mail *m)
{
    struct change *c = CONTAINER_OF(m, struct change, mail);
    struct slice name = slice_from(c->op.key, sizeof(META_DATABASE) - 1);

    if ((c->result == ERR_OK) == (c->op.kind == COMMITTER_DELETE))
        take_out(c->d, name); /* dropped, or not stored */
    if (c->result == ERR_OK && c->op.kind == COMMITTER_PUT)
        c->result = insert(c->d, name);
    if (c->done != NULL)
        c->done(c->arg, c->result, &c->info);
    mem_free(c);
}

/* On the committer's thread. */
static void
committed(struct committer_change *change, enum err result, const struct errinfo *info)
{
    struct change *c = CONTAINER_OF(change, struct change, change);

    c->result = result;
    if (info != NULL)
        c->info = *info;
    mailbox_post(c->d->mailbox, &c->mail);
}

static enum err
begin(struct databases *d, enum committer_op_kind kind, struct slice name, databases_done *done,
      void *arg)
{
    struct change *c = mem_zalloc(sizeof(*c));

    if (c == NULL)
        return ERR_NOMEM;
    c->d = d;
    c->done = done;
    c->arg = arg;
    c->mail.call = change_is_over;
    memcpy(c->key, META_DATABASE, sizeof(META_DATABASE) - 1);
    memcpy(c->key + sizeof(META_DATABASE) - 1, name.p, name.n);
    c->op.kind = kind;
    c->op.key = slice_make(c->key, sizeof(META_DATABASE) - 1 + name.n);
    c->op.value = SLICE("\x80"); /* an empty MessagePack map: nothing but the name is known */
    c->change = (struct committer_change){.ops = &c->op, .count = 1, .done = committed};
    committer_change(d->committer, &c->change);
    return ERR_OK;
}

void
databases_note(struct databases *d, struct slice name)
{
    if (!databases_has(d, name) && insert(d, name) == ERR_OK)
        (void)begin(d, COMMITTER_PUT, name, NULL, NULL);
}

enum err
databases_create(struct databases *d, struct slice name, databases_done *done, void *arg,
                 struct errinfo *info)
{
    if (d->count == DATABASES_MAX && !databases_has(d, name))
        return errinfo_set(info, ERR_RANGE, "there are %d databases already, the most there can be",
                           DATABASES_MAX);
    if (begin(d, COMMITTER_PUT, name, done, arg) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for a database");
    return ERR_OK;
}

enum err
databases_drop(struct databases *d, struct slice name, databases_done *done, void *arg,
               struct errinfo *info)
{
    if (begin(d, COMMITTER_DELETE, name, done, arg) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory to drop a database");
    return ERR_OK;
}
