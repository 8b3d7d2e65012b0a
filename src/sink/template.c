/*
 * template.c: see template.h.
 */
#include "sink/template.h"

#include "base/mem.h"
#include "base/text.h"
#include "mqtt/mqtt_packet.h"
#include "point/point.h"

#define PARTS_MAX 64

enum part_kind { PART_TEXT, PART_DATABASE, PART_POLICY, PART_MEASUREMENT, PART_TAG };

struct part {
    enum part_kind kind;
    struct slice text;     /* PART_TEXT: the text; PART_TAG: the tag's name */
    struct slice fallback; /* for an absent or empty value */
};

struct template
{
    enum template_rule rule;
    char *text; /* what the parts point into */
    struct part parts[PARTS_MAX];
    size_t count;
};

static enum err
too_long(struct errinfo *info)
{
    return errinfo_set(info, ERR_CONFIG, "a template has at most %d parts", PARTS_MAX);
}

static enum err
add_part(struct template *t, struct part part, struct errinfo *info)
{
    if (part.kind == PART_TEXT && part.text.n == 0)
        return ERR_OK;
    if (t->count == PARTS_MAX)
        return too_long(info);
    t->parts[t->count++] = part;
    return ERR_OK;
}

static enum err
unknown_placeholder(const struct template *t, struct slice inside, struct errinfo *info)
{
    return errinfo_set(info, ERR_CONFIG, "unknown placeholder {%.*s}; known are %s",
                       (int)(inside.n > 40 ? 40 : inside.n), (const char *)inside.p,
                       t->rule == TEMPLATE_HTTP
                           ? "{db} and {rp}"
                           : "{db}, {rp}, {measurement}, {tag:NAME} and {tag:NAME|default}");
}

/* What stands between the braces. */
static enum err
add_placeholder(struct template *t, struct slice inside, struct errinfo *info)
{
    struct part part = {PART_TEXT, {NULL, 0}, SLICE_INIT("_")};

    if (slice_eq(inside, SLICE("db")))
        part.kind = PART_DATABASE;
    else if (slice_eq(inside, SLICE("rp")))
        part.kind = PART_POLICY;
    else if (slice_eq(inside, SLICE("measurement")) && t->rule != TEMPLATE_HTTP)
        part.kind = PART_MEASUREMENT;
    else if (slice_starts(inside, SLICE("tag:")) && t->rule != TEMPLATE_HTTP) {
        struct slice rest = slice_from(inside, 4);
        size_t bar = slice_find(rest, '|');

        part.kind = PART_TAG;
        part.text = slice_to(rest, bar);
        if (bar + 1 < rest.n)
            part.fallback = slice_from(rest, bar + 1);
    }
    if (part.kind == PART_TEXT || (part.kind == PART_TAG && part.text.n == 0))
        return unknown_placeholder(t, inside, info);
    return add_part(t, part, info);
}

static enum err
compile(struct template *t, struct slice rest, struct errinfo *info)
{
    enum err err = ERR_OK;

    while (rest.n > 0 && err == ERR_OK) {
        size_t n = 0;

        while (n < rest.n && rest.p[n] != '{' && rest.p[n] != '}')
            n++;
        if (n + 1 < rest.n && rest.p[n] == rest.p[n + 1]) { /* {{ or }}: one brace */
            err = add_part(t, (struct part){PART_TEXT, slice_to(rest, n + 1), {NULL, 0}}, info);
            rest = slice_from(rest, n + 2);
            continue;
        }
        err = add_part(t, (struct part){PART_TEXT, slice_to(rest, n), {NULL, 0}}, info);
        rest = slice_from(rest, n);
        if (rest.n == 0 || err != ERR_OK)
            break;
        n = slice_find(rest, '}');
        if (rest.p[0] == '}' || n == rest.n)
            return errinfo_set(info, ERR_CONFIG,
                               "a brace of a template is not paired; write {{ or }} for a brace");
        err = add_placeholder(t, slice_make(rest.p + 1, n - 1), info);
        rest = slice_from(rest, n + 1);
    }
    return err;
}

enum err
template_open(struct template **out, struct slice text, enum template_rule rule,
              struct errinfo *info)
{
    struct template *t = mem_zalloc(sizeof(*t));
    enum err err;

    if (t == NULL || (t->text = mem_text(text)) == NULL) {
        template_close(t);
        return errinfo_set(info, ERR_NOMEM, "no memory for a template");
    }
    t->rule = rule;
    err = compile(t, slice_make(t->text, text.n), info);
    if (err != ERR_OK) {
        template_close(t);
        return err;
    }
    *out = t;
    return ERR_OK;
}

void
template_close(struct template *t)
{
    if (t == NULL)
        return;
    mem_free(t->text);
    mem_free(t);
}

bool
template_is_constant(const struct template *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->parts[i].kind != PART_TEXT)
            return false;
    }
    return true;
}

static bool
kafka_allows(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* Bytes of the unit at the start of ${s} that are kept together, and whether they may stand. */
static size_t
next_unit(enum template_rule rule, struct slice s, bool *allowed)
{
    size_t n = 1;

    if (rule == TEMPLATE_KAFKA) {
        *allowed = kafka_allows(s.p[0]);
    } else {
        n = text_utf8(s);
        *allowed = n > 0 && s.p[0] != '+' && s.p[0] != '#' && s.p[0] != '/' &&
                   mqtt_packet_is_string(slice_to(s, n));
        if (n == 0)
            n = 1;
    }
    return n;
}

static enum err
put_replaced(enum template_rule rule, struct slice value, struct buf *out)
{
    enum err err = ERR_OK;

    while (value.n > 0 && err == ERR_OK) {
        bool allowed;
        size_t n = next_unit(rule, value, &allowed);

        err = allowed ? buf_add(out, slice_to(value, n)) : buf_add_byte(out, '_');
        value = slice_from(value, n);
    }
    return err;
}

static enum err
put_value(enum template_rule rule, struct slice value, struct buf *out)
{
    switch (rule) {
    case TEMPLATE_AS_IS:
        return buf_add(out, value);
    case TEMPLATE_HTTP:
        return text_percent(out, value);
    case TEMPLATE_MQTT:
    case TEMPLATE_KAFKA:
        return put_replaced(rule, value, out);
    }
    return ERR_BAD;
}

/* The tag's text, escapes off, for a moment at the tail of ${out}. */
static enum err
put_tag(const struct template *t, const struct part *part, struct slice line, struct buf *out)
{
    struct point point;
    struct slice raw;
    struct buf plain;
    enum err err;

    if (point_open(&point, line) != ERR_OK || !point_find_tag(&point, part->text, &raw) ||
        raw.n == 0)
        return put_value(t->rule, part->fallback, out);
    if (point_is_plain(raw))
        return put_value(t->rule, raw, out);
    buf_init(&plain, raw.n);
    err = point_put(&plain, POINT_TAG, raw);
    if (err == ERR_OK)
        err = put_value(t->rule, buf_peek(&plain), out);
    buf_free(&plain);
    return err;
}

static enum err
put_or_fallback(const struct template *t, const struct part *part, struct slice value,
                struct buf *out)
{
    return put_value(t->rule, value.n > 0 ? value : part->fallback, out);
}

static enum err
put_part(const struct template *t, const struct part *part, const struct batch_point *point,
         struct buf *out)
{
    switch (part->kind) {
    case PART_TEXT:
        return buf_add(out, part->text);
    case PART_DATABASE:
        return put_or_fallback(t, part, point->database, out);
    case PART_POLICY:
        return put_or_fallback(t, part, point->policy, out);
    case PART_MEASUREMENT:
        return put_or_fallback(t, part, point->measurement, out);
    case PART_TAG:
        return put_tag(t, part, point->line, out);
    }
    return ERR_BAD;
}

enum err
template_put(const struct template *t, const struct batch_point *point, struct buf *out)
{
    size_t before = buf_len(out);

    for (size_t i = 0; i < t->count; i++) {
        enum err err = put_part(t, &t->parts[i], point, out);

        if (err != ERR_OK) {
            buf_cut(out, before);
            return err;
        }
    }
    return ERR_OK;
}
