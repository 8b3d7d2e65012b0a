/*
 * option.c: see option.h.
 */
#include "sink/option.h"

#include <inttypes.h>

#include "base/num.h"

struct slice
option_choice(const struct option *o, size_t index)
{
    struct slice rest = slice_of(o->choices), word;

    for (size_t i = 0; slice_split(&rest, ' ', &word); i++) {
        if (i == index)
            return word;
    }
    return slice_make(NULL, 0);
}

static enum err
parse_bool(const struct option *o, struct slice text, int64_t *out, struct errinfo *info)
{
    if (slice_eq_nocase(text, SLICE("true")))
        *out = 1;
    else if (slice_eq_nocase(text, SLICE("false")))
        *out = 0;
    else
        return errinfo_set(info, ERR_CONFIG, "option %s takes true or false", o->name);
    return ERR_OK;
}

static enum err
parse_number(const struct option *o, struct slice text, int64_t *out, struct errinfo *info)
{
    int64_t n;

    if (num_i64(text, &n) != ERR_OK || n < o->min || n > o->max)
        return errinfo_set(info, ERR_CONFIG,
                           "option %s takes a whole number from %" PRId64 " to %" PRId64, o->name,
                           o->min, o->max);
    *out = n;
    return ERR_OK;
}

static enum err
parse_duration(const struct option *o, struct slice text, int64_t *out, struct errinfo *info)
{
    char low[NUM_DURATION_TEXT], high[NUM_DURATION_TEXT];
    int64_t ns;

    if (num_duration_ns(text, &ns) != ERR_OK || ns / 1000000 < o->min || ns / 1000000 > o->max)
        return errinfo_set(info, ERR_CONFIG, "option %s takes a duration from %s to %s, like 10s",
                           o->name, num_put_duration(low, o->min * 1000000),
                           num_put_duration(high, o->max * 1000000));
    *out = ns / 1000000;
    return ERR_OK;
}

static enum err
parse_choice(const struct option *o, struct slice text, int64_t *out, struct errinfo *info)
{
    struct slice word;

    for (size_t i = 0; (word = option_choice(o, i)).n > 0; i++) {
        if (slice_eq_nocase(word, text)) {
            *out = (int64_t)i;
            return ERR_OK;
        }
    }
    return errinfo_set(info, ERR_CONFIG, "option %s takes one of: %s", o->name, o->choices);
}

static enum err
parse_text(const struct option *o, struct slice text, struct errinfo *info)
{
    if (slice_find(text, 0) < text.n)
        return errinfo_set(info, ERR_CONFIG, "option %s must not hold a NUL byte", o->name);
    if ((int64_t)text.n < o->min || (int64_t)text.n > o->max)
        return errinfo_set(info, ERR_CONFIG,
                           "option %s takes a text of %" PRId64 " to %" PRId64 " bytes", o->name,
                           o->min, o->max);
    return ERR_OK;
}

static enum err
parse_value(const struct option *o, struct slice text, int64_t *number, struct errinfo *info)
{
    switch (o->kind) {
    case OPTION_BOOL:
        return parse_bool(o, text, number, info);
    case OPTION_NUMBER:
        return parse_number(o, text, number, info);
    case OPTION_DURATION:
        return parse_duration(o, text, number, info);
    case OPTION_CHOICE:
        return parse_choice(o, text, number, info);
    case OPTION_TEXT:
    case OPTION_SECRET:
        return parse_text(o, text, info);
    }
    return errinfo_set(info, ERR_CONFIG, "option %s has no kind", o->name);
}

enum err
option_parse(const struct option *o, struct slice text, struct option_value *out,
             struct errinfo *info)
{
    int64_t number = 0;
    enum err err = parse_value(o, text, &number, info);

    if (err != ERR_OK)
        return err;
    if (secret_set(&out->text, text) != ERR_OK)
        return errinfo_set(info, ERR_NOMEM, "no memory for option %s", o->name);
    out->number = number;
    out->set = true;
    return ERR_OK;
}

enum err
option_default(const struct option *o, struct option_value *out)
{
    enum err err;

    option_free(out);
    if (o->fallback == NULL)
        return ERR_OK;
    err = option_parse(o, slice_of(o->fallback), out, NULL);
    out->set = false;
    return err;
}

void
option_free(struct option_value *v)
{
    secret_free(&v->text);
    *v = (struct option_value){0};
}
