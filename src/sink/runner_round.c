/*
 * runner_round.c: see runner_round.h.
 */
#include "sink/runner_round.h"

#include <assert.h>
#include <inttypes.h>

enum { REJECT_TO_DEAD_LETTER, REJECT_DROPS, REJECT_BLOCKS }; /* the words of the option on_reject */

/* After a failure to read the log, or for want of memory. */
#define READ_PAUSE_MS 1000

/* Bytes of points in one round of a type that has no limit of its own. */
#define MAX_BYTES 1000000

static void
forget_points(struct runner_round *rr)
{
    round_clear(&rr->round);
    rr->due_ms = DEADLINE_NEVER;
    rr->sealed = false;
}

/* Points up to ${cursor} are counted, whoever did it. */
static void
resume_at(struct runner_round *rr, uint64_t cursor)
{
    rr->cursor = cursor;
    if (rr->passed < cursor)
        rr->passed = cursor;
    round_skip_to(&rr->round, cursor);
    if (rr->round.counted == rr->round.points.count)
        forget_points(rr);
}

enum err
runner_round_open(struct runner_round *rr, const struct runner_config *config,
                  const struct sink_def *def, struct errinfo *info)
{
    struct store_record record;

    *rr = (struct runner_round){.config = config, .def = def, .due_ms = DEADLINE_NEVER};
    round_init(&rr->round);
    if (committer_record(config->committer, def->id, NULL, &record) != ERR_OK) {
        rr->gone = true;
        return ERR_OK;
    }
    rr->cursor = rr->passed = record.cursor;
    rr->memory.learned_points = (size_t)record.learned_points;
    rr->memory.delivered_any = record.forwarded > 0;
    return store_reader_open(&rr->reader, config->store, info);
}

void
runner_round_close(struct runner_round *rr)
{
    round_free(&rr->round);
    filter_close(rr->filter);
    store_reader_close(rr->reader);
    *rr = (struct runner_round){0};
}

void
runner_round_end(struct runner_round *rr)
{
    forget_points(rr);
    rr->passed = rr->cursor;
    rr->memory = (struct delivery_memory){false, 0};
    filter_close(rr->filter);
    rr->filter = NULL;
}

/* ---- steps ---- */

/* Post a step. False: it does not apply (the cursor was moved, or the sink is gone); then what is
 * left has been set right and the caller counts again. */
static bool
post(struct runner_round *rr, struct committer_step *step)
{
    struct store_record now;
    enum err err;

    step->sink = rr->def->id;
    step->from = rr->cursor;
    err = committer_step(rr->config->committer, step, &now);
    if (err == ERR_OK) {
        rr->unsettled = rr->unsettled || step->to > step->from;
        rr->cursor = step->to;
        return true;
    }
    if (err == ERR_BUSY)
        resume_at(rr, now.cursor);
    else
        rr->gone = true;
    return false;
}

/* All numbers up to ${passed} but for ${damaged} were filtered. Not counted if the cursor moved:
 * then they are looked at again from where it is. */
static void
step_over(struct runner_round *rr, uint64_t damaged)
{
    struct committer_step step = {.to = rr->passed};

    if (rr->passed == rr->cursor)
        return;
    assert(damaged <= rr->passed - rr->cursor);
    step.dropped[STORE_DROP_DAMAGED] = damaged;
    step.filtered = rr->passed - rr->cursor - damaged;
    if (!post(rr, &step))
        rr->passed = rr->cursor;
}

/* Step over the leading resolved points; over the whole round when all of it is resolved. */
static void
step_resolved(struct runner_round *rr)
{
    bool drops = sink_def_number(rr->def, "on_reject") == REJECT_DROPS;

    for (;;) {
        struct round_tally tally = round_resolved(&rr->round, drops);
        struct committer_step step = {.forwarded = tally.delivered};

        if (tally.upto == rr->round.counted)
            return;
        step.dropped[STORE_DROP_REJECTED] = tally.refused;
        step.to = tally.upto == rr->round.points.count
                      ? rr->passed
                      : batch_point(&rr->round.points, tally.upto - 1).seq;
        step.filtered = step.to - rr->cursor - tally.delivered - tally.refused;
        step.last_success_ns = tally.delivered > 0 ? clock_wall_ns(rr->config->clock) : 0;
        step.learned_points = rr->memory.learned_points;
        if (post(rr, &step)) {
            rr->round.counted = tally.upto;
            if (tally.upto == rr->round.points.count)
                forget_points(rr);
            return;
        }
        if (rr->gone)
            return;
    }
}

void
runner_round_count_error(struct runner_round *rr, enum store_error_kind kind)
{
    struct committer_step step = {.to = rr->cursor};

    step.errors[kind] = 1;
    if (!post(rr, &step) && !rr->gone) {
        step.to = rr->cursor;
        (void)post(rr, &step);
    }
}

void
runner_round_count_retry(struct runner_round *rr)
{
    struct committer_step step = {.to = rr->cursor, .retries = 1};

    if (!post(rr, &step) && !rr->gone) {
        step.to = rr->cursor;
        (void)post(rr, &step);
    }
}

/* ---- reading ---- */

static enum err
use_definition(struct runner_round *rr, struct errinfo *info)
{
    const struct sink_def *def = rr->def;

    if (rr->filter != NULL)
        return ERR_OK;
    rr->batch_size = def->batch_size > 0 ? def->batch_size : rr->config->default_batch_size;
    rr->max_bytes =
        def->type->has_url ? (size_t)sink_def_number(def, "max_batch_bytes") : MAX_BYTES;
    rr->flush_ms = def->flush_interval_ms >= 0 ? def->flush_interval_ms
                                               : rr->config->default_flush_interval_ms;
    return filter_open(&rr->filter, def, info);
}

/* The cursor moves under us when points are dropped; the sink may be dropped as a whole. */
static bool
follow_cursor(struct runner_round *rr)
{
    struct store_record now;

    if (rr->gone || committer_record(rr->config->committer, rr->def->id, NULL, &now) != ERR_OK) {
        rr->gone = true;
        return false;
    }
    if (now.cursor != rr->cursor)
        resume_at(rr, now.cursor);
    return true;
}

/* What one look at the log brought. */
static void
take_scan(struct runner_round *rr, size_t known, const struct store_scan *scan)
{
    int64_t now = clock_mono_ms(rr->config->clock);

    rr->passed = scan->passed;
    rr->more = scan->end == STORE_SCAN_MORE || scan->damaged + scan->missing > 0;
    if (rr->round.points.count == 0)
        step_over(rr, scan->damaged + scan->missing);
    else if (known == 0)
        rr->due_ms = clock_after(now, rr->flush_ms - scan->accepted_age_ms);
    if (rr->round.points.count >= rr->batch_size || scan->end == STORE_SCAN_FULL) {
        rr->sealed = rr->round.points.count > 0;
        rr->due_ms = rr->sealed ? now : DEADLINE_NEVER;
    }
}

static enum err
read_log(struct runner_round *rr, struct errinfo *info)
{
    struct store_want want = filter_want(rr->filter);
    struct store_scan scan;
    size_t known = rr->round.points.count;
    enum err err = store_read(rr->reader, rr->passed, &want, (size_t)rr->batch_size, rr->max_bytes,
                              &rr->round.points, &scan, info);

    if (filter_failed(rr->filter) || round_open_new(&rr->round, known) != ERR_OK) {
        runner_round_end(rr);
        return errinfo_set(info, ERR_NOMEM, "no memory for a batch of sink \"%s\"", rr->def->name);
    }
    take_scan(rr, known, &scan);
    return err;
}

enum err
runner_round_gather(struct runner_round *rr, struct errinfo *info)
{
    int64_t now = clock_mono_ms(rr->config->clock);
    enum err err;

    rr->more = false;
    if (now < rr->read_at_ms)
        return ERR_OK;
    err = use_definition(rr, info);
    if (err == ERR_OK && follow_cursor(rr) && !rr->sealed)
        err = read_log(rr, info);
    rr->read_at_ms = err == ERR_OK ? 0 : clock_after(now, READ_PAUSE_MS);
    return err;
}

/* ---- delivering ---- */

/* Every point has a verdict, yet one that is refused may not be passed. */
static enum err
blocked_by(struct runner_round *rr, struct outcome *outcome, struct errinfo *info)
{
    char why[sizeof(info->text)];
    uint64_t seq = batch_point(&rr->round.points, rr->round.counted).seq;

    slice_copy_text(slice_of(info->text), why, sizeof(why));
    round_reopen(&rr->round, VERDICT_REFUSED);
    outcome_is(outcome, DELIVERY_REJECTED, STORE_ERROR_REJECTED);
    return errinfo_set(info, ERR_DENIED, "the destination refuses point %" PRIu64 ": %s", seq, why);
}

enum err
runner_round_deliver(struct runner_round *rr, struct sink *sink, struct outcome *outcome,
                     struct errinfo *info)
{
    enum err err;

    rr->sealed = true;
    err = delivery_pass(sink, &rr->round, &rr->memory, outcome, info);
    step_resolved(rr);
    if (err == ERR_OK && rr->round.points.count > 0 && !rr->gone)
        return blocked_by(rr, outcome, info);
    return err;
}

/* ---- waiting ---- */

bool
runner_round_settled(struct runner_round *rr)
{
    struct store_record committed;

    if (!rr->unsettled || rr->config->cursor_delay_ms > 0)
        return true;
    if (committer_record(rr->config->committer, rr->def->id, &committed, NULL) != ERR_OK) {
        rr->gone = true;
        return true;
    }
    if (committed.cursor >= rr->cursor) {
        rr->unsettled = false;
        return true;
    }
    committer_flush(rr->config->committer);
    return false;
}

void
runner_round_arm(struct runner_round *rr, bool reading)
{
    uint64_t missing = rr->batch_size - rr->round.points.count;
    uint64_t seq = rr->passed + (rr->round.points.count == 0 ? 1 : missing);

    if (!reading || rr->sealed || rr->read_at_ms > 0)
        seq = UINT64_MAX;
    committer_arm(rr->config->committer, rr->def->id, seq,
                  rr->unsettled && rr->config->cursor_delay_ms == 0);
}
