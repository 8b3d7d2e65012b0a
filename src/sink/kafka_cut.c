/*
 * kafka_cut.c: see kafka_cut.h.
 */
#include "sink/kafka_cut_internal.h"

#include <string.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "kafka/kafka_partition.h"
#include "sink/topic_url.h"

#define BYTES_MAX ((size_t)512 << 20)
#define TOPIC_MAX ((size_t)1 << 20)
#define GZIP_LEVEL 3 /* as fast as 1 on line protocol, and smaller */
#define NO_TOPIC UINT32_MAX

/* Points without a key stay with a partition for so many bytes: batches of 64 KiB and more cost
 * little, and several partitions are written to at the same time. */
#define STICKY_BYTES 65536

enum err
kafka_cut_open(struct kafka_cut *cut, const struct sink_def *def, const char *node, uint32_t seed,
               struct errinfo *info)
{
    enum { MURMUR2, STICKY }; /* the words of the option partitioner */
    enum err err;

    *cut = (struct kafka_cut){.random = seed};
    buf_init(&cut->bytes, BYTES_MAX);
    buf_init(&cut->packed, BYTES_MAX);
    buf_init(&cut->text, TOPIC_MAX);
    buf_init(&cut->key, TOPIC_MAX);
    cut->max_bytes = (size_t)sink_def_number(def, "max_message_bytes");
    err = kafka_value_open(&cut->value, def, node, info);
    if (err == ERR_OK)
        err = topic_url_open(&cut->topic_template, def, TEMPLATE_KAFKA, info);
    cut->keyed_partitions =
        cut->value.key != NULL &&
        (!sink_def_is_set(def, "partitioner") || sink_def_number(def, "partitioner") == MURMUR2);
    if (err == ERR_OK && sink_def_number(def, "compression") == 1) {
        cut->gzip = gzip_writer_open(GZIP_LEVEL);
        err = cut->gzip == NULL ? ERR_NOMEM : ERR_OK;
    }
    return err;
}

void
kafka_cut_free(struct kafka_cut *cut)
{
    kafka_value_free(&cut->value);
    template_close(cut->topic_template);
    gzip_writer_close(cut->gzip);
    mem_free(cut->topic_of);
    mem_free(cut->link);
    mem_free(cut->taken);
    mem_free(cut->order);
    mem_free(cut->batches);
    for (size_t i = 0; i < cut->topics_cap; i++)
        mem_free(cut->topics[i].lanes);
    mem_free(cut->topics);
    buf_free(&cut->bytes);
    buf_free(&cut->packed);
    buf_free(&cut->text);
    buf_free(&cut->key);
}

/* ---- which round ---- */

/* Take a larger array in place of ${*array}; its content is not kept. */
static bool
replace(void **array, size_t count, size_t size)
{
    void *larger = mem_array(count, size);

    if (larger == NULL)
        return false;
    mem_free(*array);
    *array = larger;
    return true;
}

static enum err
grow_points(struct kafka_cut *cut, size_t count)
{
    void *topic_of = cut->topic_of, *links = cut->link, *taken = cut->taken;
    bool good;

    if (count <= cut->points_cap)
        return ERR_OK;
    cut->points_cap = 0;
    good = replace(&topic_of, count, sizeof(*cut->topic_of)) &&
           replace(&links, count, sizeof(*cut->link)) &&
           replace(&taken, count, sizeof(*cut->taken));
    cut->topic_of = topic_of;
    cut->link = links;
    cut->taken = taken;
    if (!good)
        return ERR_NOMEM;
    cut->points_cap = count;
    return ERR_OK;
}

enum err
kafka_cut_begin(struct kafka_cut *cut, const struct round *round)
{
    size_t count = round->points.count;
    uint64_t first = batch_point(&round->points, 0).seq;
    uint64_t last = batch_point(&round->points, count - 1).seq;

    if (cut->point_count == count && cut->first_seq == first && cut->last_seq == last)
        return ERR_OK;
    kafka_cut_give_up(cut);
    cut->point_count = 0;
    if (grow_points(cut, count) != ERR_OK)
        return ERR_NOMEM;
    cut->point_count = count;
    cut->refused = KAFKA_CUT_NONE;
    cut->first_seq = first;
    cut->last_seq = last;
    kafka_cut_give_up(cut); /* the new points: in no batch */
    return ERR_OK;
}

/* ---- topics ---- */

static enum err
grow_topics(struct kafka_cut *cut, size_t count)
{
    size_t cap = cut->topics_cap == 0 ? 4 : cut->topics_cap;
    struct kafka_cut_topic *topics;

    if (count <= cut->topics_cap)
        return ERR_OK;
    while (cap < count)
        cap *= 2;
    topics = mem_resize(cut->topics, cap * sizeof(*topics));
    if (topics == NULL)
        return ERR_NOMEM;
    memset(topics + cut->topics_cap, 0, (cap - cut->topics_cap) * sizeof(*topics));
    cut->topics = topics;
    cut->topics_cap = cap;
    return ERR_OK;
}

/* What a topic may be called; the template has replaced other bytes of values already. */
static bool
is_legal(struct slice name)
{
    return name.n > 0 && name.n <= 249 && !slice_eq(name, SLICE(".")) &&
           !slice_eq(name, SLICE(".."));
}

enum err
kafka_cut_topic(struct kafka_cut *cut, struct slice name, struct kafka_cluster *cluster,
                size_t *index, struct errinfo *info)
{
    enum err err = kafka_cluster_topic(cluster, name, index);

    if (err == ERR_OK)
        err = grow_topics(cut, cluster->topic_count);
    if (err == ERR_RANGE)
        errinfo_set(info, err, "the points go to more than %d topics", KAFKA_CLUSTER_TOPICS_MAX);
    else if (err != ERR_OK)
        errinfo_set(info, err, "no memory for the name of a topic");
    return err;
}

static enum err
name_one(struct kafka_cut *cut, struct round *round, size_t i, struct kafka_cluster *cluster,
         struct errinfo *info)
{
    struct batch_point point = batch_point(&round->points, i);
    struct slice name;
    size_t index;
    enum err err;

    buf_clear(&cut->text);
    if (template_put(cut->topic_template, &point, &cut->text) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for the name of a topic");
    name = buf_peek(&cut->text);
    if (!is_legal(name)) {
        kafka_cut_refuse(cut, round, i, "its topic would be %s, which no topic can be called",
                         name.n > 249 ? "over 249 bytes long" : "empty, \".\" or \"..\"");
        return ERR_OK;
    }
    err = kafka_cut_topic(cut, name, cluster, &index, info);
    if (err == ERR_OK)
        cut->topic_of[i] = (uint32_t)index;
    return err;
}

enum err
kafka_cut_name(struct kafka_cut *cut, struct round *round, size_t from, size_t to,
               struct kafka_cluster *cluster, struct errinfo *info)
{
    bool constant = template_is_constant(cut->topic_template);
    uint32_t known = NO_TOPIC;
    enum err err = ERR_OK;

    for (size_t i = from; i < to && err == ERR_OK; i++) {
        if (!round_is_open(round, i) || cut->taken[i] || cut->topic_of[i] != NO_TOPIC)
            continue;
        if (constant && known != NO_TOPIC) {
            cut->topic_of[i] = known;
            continue;
        }
        err = name_one(cut, round, i, cluster, info);
        known = cut->topic_of[i];
    }
    return err;
}

/* ---- partitions ---- */

static enum err
grow_lanes(struct kafka_cut_topic *topic, uint32_t count)
{
    struct kafka_cut_lane *lanes;

    if (count <= topic->lane_count)
        return ERR_OK;
    lanes = mem_resize(topic->lanes, count * sizeof(*lanes));
    if (lanes == NULL)
        return ERR_NOMEM;
    for (uint32_t i = topic->lane_count; i < count; i++)
        lanes[i] = (struct kafka_cut_lane){.producer = -1,
                                           .batch = KAFKA_CUT_NONE,
                                           .last = KAFKA_CUT_NONE,
                                           .head = KAFKA_CUT_NO_POINT,
                                           .tail = KAFKA_CUT_NO_POINT};
    topic->lanes = lanes;
    topic->lane_count = count;
    return ERR_OK;
}

/* The next partition for points without a key: any that has a leader, else any. */
static uint32_t
next_sticky(struct kafka_cut *cut, const struct kafka_cluster_topic *known)
{
    uint32_t at;

    cut->random = cut->random * 1664525 + 1013904223;
    at = (cut->random >> 8) % known->partition_count;
    for (uint32_t i = 0; i < known->partition_count; i++) {
        uint32_t partition = (at + i) % known->partition_count;

        if (known->partitions[partition].leader >= 0)
            return partition;
    }
    return at;
}

static uint32_t
sticky(struct kafka_cut *cut, struct kafka_cut_topic *topic,
       const struct kafka_cluster_topic *known, size_t bytes)
{
    if (topic->sticky_bytes == 0 || topic->sticky_bytes >= STICKY_BYTES ||
        topic->sticky >= known->partition_count) {
        topic->sticky = next_sticky(cut, known);
        topic->sticky_bytes = 0;
    }
    topic->sticky_bytes += bytes + 1;
    return topic->sticky;
}

static enum err
choose(struct kafka_cut *cut, const struct batch_point *point, struct kafka_cut_topic *topic,
       const struct kafka_cluster_topic *known, uint32_t *partition)
{
    if (!cut->keyed_partitions) {
        *partition = sticky(cut, topic, known, point->line.n);
        return ERR_OK;
    }
    buf_clear(&cut->key);
    if (template_put(cut->value.key, point, &cut->key) != ERR_OK)
        return ERR_NOMEM;
    *partition = (uint32_t)kafka_partition_of(buf_peek(&cut->key), known->partition_count);
    return ERR_OK;
}

static void
queue(struct kafka_cut *cut, struct kafka_cut_lane *lane, uint32_t i)
{
    cut->link[i] = KAFKA_CUT_NO_POINT;
    if (lane->head == KAFKA_CUT_NO_POINT)
        lane->head = i;
    else
        cut->link[lane->tail] = i;
    lane->tail = i;
}

/* Queue each point at its partition. */
static enum err
distribute(struct kafka_cut *cut, struct round *round, size_t from, size_t to,
           const struct kafka_cluster *cluster, size_t *queued, size_t *left)
{
    for (size_t i = from; i < to; i++) {
        struct batch_point point = batch_point(&round->points, i);
        const struct kafka_cluster_topic *known;
        struct kafka_cut_topic *topic;
        uint32_t partition;

        if (!round_is_open(round, i) || cut->taken[i])
            continue;
        known = &cluster->topics[cut->topic_of[i]];
        topic = &cut->topics[cut->topic_of[i]];
        if (known->partition_count == 0) {
            (*left)++;
            continue;
        }
        if (grow_lanes(topic, known->partition_count) != ERR_OK ||
            choose(cut, &point, topic, known, &partition) != ERR_OK)
            return ERR_NOMEM;
        queue(cut, &topic->lanes[partition], (uint32_t)i);
        (*queued)++;
    }
    return ERR_OK;
}

enum err
kafka_cut_make(struct kafka_cut *cut, struct round *round, size_t from, size_t to,
               const struct kafka_cluster *cluster, size_t *left, struct errinfo *info)
{
    size_t queued = 0;
    uint32_t *members = NULL;
    enum err err;

    *left = 0;
    err = distribute(cut, round, from, to, cluster, &queued, left);
    if (err == ERR_OK && queued > 0) {
        members = mem_array(queued, sizeof(*members));
        err = members == NULL ? ERR_NOMEM : ERR_OK;
    }
    for (size_t t = 0; queued > 0 && err == ERR_OK && t < cluster->topic_count; t++) {
        for (uint32_t p = 0; t < cut->topics_cap && p < cut->topics[t].lane_count; p++) {
            if (err == ERR_OK && cut->topics[t].lanes[p].head != KAFKA_CUT_NO_POINT)
                err = kafka_cut_fill(cut, round, t, p, members);
        }
        if (t < cut->topics_cap)
            cut->topics[t].sticky_bytes = 0; /* the next round has another partition */
    }
    mem_free(members);
    return err == ERR_OK ? ERR_OK : kafka_cut_out_of_memory(cut, info);
}
