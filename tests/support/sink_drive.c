/*
 * sink_drive.c: definitions and rounds of points for the tests of sinks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/sink_drive.h"

#include <stdio.h>

#include "base/mem.h"
#include "sink/sink_types.h"

static void
set_options(struct sink_def *d, const char *const *options)
{
    struct errinfo info = {ERR_OK, 0, ""};

    for (size_t i = 0; options != NULL && options[i] != NULL; i += 2) {
        if (sink_def_set_option(d, slice_of(options[i]), slice_of(options[i + 1]), &info) != ERR_OK)
            fail_msg("%s", info.text);
    }
}

void
sink_drive_def(struct sink_def *d, const char *type, const char *url, const char *const *options)
{
    const struct sink_type *t = sink_types_find(slice_of(type));
    struct errinfo info = {ERR_OK, 0, ""};

    assert_non_null(t);
    assert_int_equal(sink_def_init(d, t), ERR_OK);
    d->id = 7;
    d->name = mem_text(SLICE("s"));
    assert_non_null(d->name);
    if (url != NULL && sink_def_set_url(d, slice_of(url), &info) != ERR_OK)
        fail_msg("%s", info.text);
    set_options(d, options);
    if (sink_def_check(d, &info) != ERR_OK)
        fail_msg("%s", info.text);
}

void
sink_drive_add(struct round *round, uint64_t seq, const char *database, const char *policy,
               const char *measurement, const char *line)
{
    size_t known = round->points.count;

    assert_int_equal(batch_source(&round->points, slice_of(database), slice_of(policy)), ERR_OK);
    assert_int_equal(batch_add(&round->points, seq, (int64_t)seq * 1000000000,
                               slice_of(measurement), slice_of(line)),
                     ERR_OK);
    assert_int_equal(round_open_new(round, known), ERR_OK);
}

void
sink_drive_round(struct round *round, uint64_t first, size_t count)
{
    char line[64];

    round_init(round);
    for (uint64_t seq = first; seq < first + count; seq++) {
        (void)snprintf(line, sizeof(line), "m,t=a v=%llui", (unsigned long long)seq);
        sink_drive_add(round, seq, "db0", "", "m", line);
    }
}

/* ---- the script's connections, lent ---- */

static enum err
lent_connect(struct stream **out, const struct stream_env *env, const struct stream_target *target,
             int64_t deadline, struct errinfo *info)
{
    struct script_host *host = env->arg;

    return host->env.connect(out, &host->env, target, deadline, info);
}

static enum err
lent_pause(const struct stream_env *env, int64_t deadline)
{
    struct script_host *host = env->arg;

    return host->env.pause(&host->env, deadline);
}

void
sink_drive_script(struct sink_env *env, struct script_host *host)
{
    *env = (struct sink_env){.stream = {.clock = &host->clock.clock,
                                        .connect = lent_connect,
                                        .pause = lent_pause,
                                        .arg = host},
                             .node = "node-1"};
}
