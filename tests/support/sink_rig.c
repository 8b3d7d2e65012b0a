/*
 * sink_rig.c: a sink on a script.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sink_rig.h"

#include "base/mem.h"
#include "support/sink_drive.h"

void
sink_rig_open(struct sink_rig *r, const char *type, struct script_conn *conns, size_t count,
              const char *url, const char *const *options)
{
    *r = (struct sink_rig){.live = mem_live()};
    stream_script_init(&r->host, conns, count);
    sink_drive_script(&r->env, &r->host);
    sink_drive_def(&r->def, type, url, options);
    round_init(&r->round);
    if (r->def.type->open(&r->sink, &r->def, &r->env, &r->info) != ERR_OK)
        fail_msg("%s", r->info.text);
}

void
sink_rig_drop(struct sink_rig *r)
{
    r->sink->type->disconnect(r->sink);
    r->sink->type->close(r->sink);
    round_free(&r->round);
    sink_def_free(&r->def);
    stream_script_free(&r->host);
    assert_int_equal(mem_live(), r->live);
}

void
sink_rig_close(struct sink_rig *r)
{
    const char *wrong;

    sink_rig_drop(r);
    wrong = stream_script_done(&r->host);
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

enum err
sink_rig_deliver(struct sink_rig *r)
{
    return r->sink->type->deliver(r->sink, &r->round, 0, r->round.points.count, &r->outcome,
                                  &r->info);
}

void
sink_rig_delivers(struct sink_rig *r)
{
    enum err err = sink_rig_deliver(r);

    for (size_t i = 0; i < r->host.count; i++) {
        if (r->host.conns[i].wrong[0] != '\0')
            fail_msg("%s", r->host.conns[i].wrong);
    }
    if (err != ERR_OK)
        fail_msg("%s: %s", err_name(err), r->info.text);
    assert_int_equal(r->outcome.what, DELIVERY_DONE);
}

size_t
sink_rig_delivered(const struct sink_rig *r)
{
    return round_count(&r->round, 0, r->round.points.count, VERDICT_DELIVERED);
}
