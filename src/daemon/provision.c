/*
 * provision.c: see provision.h.
 */
#include "daemon/provision.h"

#include <errno.h>
#include <stdio.h>

#include "base/container.h"
#include "base/mem.h"
#include "daemon/query_api.h"

#define META_READY "provisioned"
#define FILE_MAX (1u << 20)

struct provision {
    struct daemon *daemon;
    void (*done)(void *arg, const char *error);
    void *arg;
    bool ready;        /* the mark is there */
    char failure[512]; /* what was wrong with the file; empty: nothing so far */
    struct buf sql;
    struct committer_op op;
    struct committer_change change;
    struct mail mail;
    enum err result;
    struct errinfo info;
};

static void
saw_mark(void *arg, struct slice key, struct slice value)
{
    struct provision *p = arg;

    (void)value;
    p->ready = p->ready || slice_eq(key, SLICE(META_READY));
}

/* ---- the mark ---- */

static void
mark_is_set(struct mail *m)
{
    struct provision *p = CONTAINER_OF(m, struct provision, mail);

    p->done(p->arg, p->result == ERR_OK ? NULL : p->info.text);
}

static void
committed(struct committer_change *change, enum err result, const struct errinfo *info)
{
    struct provision *p = CONTAINER_OF(change, struct provision, change);

    p->result = result;
    if (info != NULL)
        p->info = *info;
    mailbox_post(p->daemon->mailbox, &p->mail);
}

static void
set_mark(struct provision *p)
{
    p->op = (struct committer_op){
        .kind = COMMITTER_PUT, .key = SLICE(META_READY), .value = SLICE("\x80")};
    p->change = (struct committer_change){.ops = &p->op, .count = 1, .done = committed};
    p->mail.call = mark_is_set;
    committer_change(p->daemon->committer, &p->change);
}

/* ---- the file ---- */

static void drop_next(void *arg, enum err result, const struct errinfo *info);

/* All or nothing: what the file made before its fault is taken back. */
static void
file_is_done(void *arg, const char *error)
{
    struct provision *p = arg;

    if (error == NULL) {
        set_mark(p);
        return;
    }
    slice_copy_text(slice_of(error), p->failure, sizeof(p->failure));
    drop_next(p, ERR_OK, NULL);
}

static void
run_file(struct provision *p)
{
    struct errinfo info;

    if (query_api_run(p->daemon->queries, buf_peek(&p->sql), file_is_done, p, &info) != ERR_OK)
        p->done(p->arg, info.text);
}

/* Drop the sinks there are, one after another: those of an interrupted start before the file runs,
 * its own when it failed. */
static void
drop_next(void *arg, enum err result, const struct errinfo *info)
{
    struct provision *p = arg;
    struct supervisor *s = p->daemon->supervisor;
    struct errinfo why;

    if (result != ERR_OK)
        p->done(p->arg, p->failure[0] != 0 ? p->failure : info->text);
    else if (supervisor_count(s) == 0 && p->failure[0] != 0)
        p->done(p->arg, p->failure);
    else if (supervisor_count(s) == 0)
        run_file(p);
    else if (supervisor_drop(s, slice_of(supervisor_at(s, 0)->name), drop_next, p, &why) != ERR_OK)
        p->done(p->arg, why.text);
}

static enum err
read_file(struct provision *p, const char *path, struct errinfo *info)
{
    FILE *file = fopen(path, "rb");
    size_t got = 1;
    enum err err = ERR_OK;

    if (file == NULL)
        return errinfo_sys(info, ERR_CONFIG, errno, "sink.init_file: cannot open %s", path);
    while (err == ERR_OK && got > 0) {
        uint8_t *room = buf_reserve(&p->sql, 4096);

        got = room == NULL ? 0 : fread(room, 1, 4096, file);
        buf_commit(&p->sql, got);
        if (room == NULL)
            err = errinfo_set(info, ERR_CONFIG, "sink.init_file: %s is larger than %u bytes", path,
                              FILE_MAX);
        else if (ferror(file))
            err = errinfo_sys(info, ERR_CONFIG, errno, "sink.init_file: cannot read %s", path);
    }
    fclose(file);
    return err;
}

enum err
provision_start(struct provision **out, struct daemon *daemon,
                void (*done)(void *arg, const char *error), void *arg, struct errinfo *info)
{
    struct provision *p = mem_zalloc(sizeof(*p));
    const char *path = daemon->config->sink.init_file;
    enum err err;

    if (p == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory to prepare the store");
    p->daemon = daemon;
    p->done = done;
    p->arg = arg;
    buf_init(&p->sql, FILE_MAX);
    err = store_each_meta(daemon->store, SLICE(META_READY), saw_mark, p, info);
    if (err == ERR_OK && !p->ready && path != NULL)
        err = read_file(p, path, info);
    if (err != ERR_OK) {
        provision_close(p);
        return err;
    }
    *out = p;
    if (p->ready)
        done(arg, NULL);
    else if (path == NULL)
        set_mark(p);
    else
        drop_next(p, ERR_OK, NULL);
    return ERR_OK;
}

void
provision_close(struct provision *p)
{
    if (p == NULL)
        return;
    buf_wipe(&p->sql);
    mem_free(p);
}
