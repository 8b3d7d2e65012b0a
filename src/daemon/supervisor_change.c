/*
 * supervisor_change.c: create, replace and drop sinks: see supervisor.h.
 */
#include <assert.h>

#include "base/container.h"
#include "base/mem.h"
#include "daemon/supervisor_internal.h"
#include "sink/sink_codec.h"

static void
finish_change(struct supervisor *s)
{
    struct entry *e = s->changing;
    struct entry *old;

    switch (s->kind) {
    case CHANGE_NONE:
        break;
    case CHANGE_CREATE:
        supervisor_insert(s, e);
        supervisor_start_runner(s, e);
        break;
    case CHANGE_REPLACE:
        old = supervisor_entry(s, &e->def);
        sink_def_free(&old->def);
        old->def = e->def;
        mem_free(e);
        supervisor_refresh(s, old);
        break;
    case CHANGE_DROP:
        supervisor_take_out(s, e);
        supervisor_let_go(s, e);
        break;
    }
}

static void
give_up_change(struct supervisor *s)
{
    if (s->kind != CHANGE_DROP) {
        sink_def_free(&s->changing->def);
        mem_free(s->changing);
    }
}

/* On the loop's thread: the change was committed, or not. */
static void
change_is_over(struct mail *m)
{
    struct supervisor *s = CONTAINER_OF(m, struct supervisor, change_mail);

    if (s->result == ERR_OK)
        finish_change(s);
    else
        give_up_change(s);
    s->kind = CHANGE_NONE;
    s->changing = NULL;
    buf_wipe(&s->value);
    s->done(s->done_arg, s->result, &s->result_info);
}

/* On the committer's thread. */
static void
change_committed(struct committer_change *change, enum err result, const struct errinfo *info)
{
    struct supervisor *s = CONTAINER_OF(change, struct supervisor, change);

    s->result = result;
    s->result_info = info != NULL ? *info : (struct errinfo){ERR_OK, 0, ""};
    mailbox_post(s->config.mailbox, &s->change_mail);
}

static enum err
set_key(struct supervisor *s, struct slice name)
{
    buf_clear(&s->key);
    if (buf_add_text(&s->key, META_SINK) != ERR_OK)
        return ERR_NOMEM;
    return buf_add(&s->key, name);
}

static void
begin_change(struct supervisor *s, enum change_kind kind, struct entry *e, size_t ops,
             supervisor_done *done, void *arg)
{
    s->kind = kind;
    s->changing = e;
    s->done = done;
    s->done_arg = arg;
    s->change_mail.call = change_is_over;
    s->change = (struct committer_change){.ops = s->ops, .count = ops, .done = change_committed};
    committer_change(s->config.committer, &s->change);
}

/* The definition's bytes in s->value and an entry that holds it; ${def} is taken over in any
 * case. */
static enum err
prepare(struct supervisor *s, struct sink_def *def, struct entry **out, struct errinfo *info)
{
    struct entry *e = mem_zalloc(sizeof(*e));
    enum err err = ERR_OK;

    buf_clear(&s->value);
    if (e == NULL || set_key(s, slice_of(def->name)) != ERR_OK)
        err = errinfo_set(info, ERR_NOMEM, "no memory for sink \"%.60s\"", def->name);
    else if (sink_codec_encode(def, &s->value) != ERR_OK)
        err =
            errinfo_set(info, ERR_RANGE, "the definition of sink \"%.60s\" is larger than %u bytes",
                        def->name, DEFINITION_MAX);
    if (err != ERR_OK) {
        sink_def_free(def);
        mem_free(e);
        return err;
    }
    e->def = *def;
    *def = (struct sink_def){0};
    *out = e;
    return ERR_OK;
}

static enum err
refuse(struct sink_def *def, struct errinfo *info)
{
    sink_def_free(def);
    return errinfo_set(info, ERR_BUSY, "another change of the sinks is under way");
}

enum err
supervisor_create(struct supervisor *s, struct sink_def *def, bool earliest, supervisor_done *done,
                  void *arg, struct errinfo *info)
{
    struct entry *e;
    enum err err;

    assert(supervisor_find(s, slice_of(def->name)) == NULL);
    if (s->kind != CHANGE_NONE)
        return refuse(def, info);
    if (s->count == STORE_SINKS_MAX) {
        sink_def_free(def);
        return errinfo_set(info, ERR_RANGE, "there are %d sinks already, the most there can be",
                           STORE_SINKS_MAX);
    }
    def->id = s->next_id;
    def->created_ns = clock_wall_ns(s->config.clock);
    err = prepare(s, def, &e, info);
    if (err != ERR_OK)
        return err;
    s->next_id++;
    s->ops[0] = (struct committer_op){
        .kind = COMMITTER_PUT, .key = buf_peek(&s->key), .value = buf_peek(&s->value)};
    s->ops[1] = (struct committer_op){.kind = COMMITTER_SINK_CREATE,
                                      .sink = e->def.id,
                                      .earliest = earliest,
                                      .may_lose = supervisor_may_lose(s, &e->def)};
    begin_change(s, CHANGE_CREATE, e, 2, done, arg);
    return ERR_OK;
}

enum err
supervisor_replace(struct supervisor *s, struct sink_def *def, supervisor_done *done, void *arg,
                   struct errinfo *info)
{
    struct entry *e;
    enum err err;

    assert(supervisor_find(s, slice_of(def->name)) != NULL);
    if (s->kind != CHANGE_NONE)
        return refuse(def, info);
    err = prepare(s, def, &e, info);
    if (err != ERR_OK)
        return err;
    s->ops[0] = (struct committer_op){
        .kind = COMMITTER_PUT, .key = buf_peek(&s->key), .value = buf_peek(&s->value)};
    s->ops[1] = (struct committer_op){.kind = COMMITTER_SINK_POLICY,
                                      .sink = e->def.id,
                                      .may_lose = supervisor_may_lose(s, &e->def)};
    begin_change(s, CHANGE_REPLACE, e, 2, done, arg);
    return ERR_OK;
}

enum err
supervisor_drop(struct supervisor *s, struct slice name, supervisor_done *done, void *arg,
                struct errinfo *info)
{
    bool found;
    size_t at = supervisor_place(s, name, &found);
    struct entry *e;

    assert(found);
    e = s->entries[at];
    if (s->kind != CHANGE_NONE)
        return errinfo_set(info, ERR_BUSY, "another change of the sinks is under way");
    if (set_key(s, name) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory to drop sink \"%.60s\"", e->def.name);
    s->ops[0] = (struct committer_op){.kind = COMMITTER_DELETE, .key = buf_peek(&s->key)};
    s->ops[1] = (struct committer_op){.kind = COMMITTER_SINK_DROP, .sink = e->def.id};
    begin_change(s, CHANGE_DROP, e, 2, done, arg);
    return ERR_OK;
}
