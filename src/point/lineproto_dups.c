/*
 * lineproto_dups.c: find names that come twice in one line. See lineproto_dups.h.
 *
 * Clients send tags in order, so neighbours are compared first. What is out of order is sorted: a
 * heap sort over offsets, which needs no memory and has no bad case to be sent on purpose.
 */
#include "point/lineproto_dups.h"

#include <stdint.h>

#include "point/lineproto.h"
#include "point/point.h"

#define NAMES_MAX LINEPROTO_FIELDS_MAX

struct names {
    struct slice text;
    uint32_t at[NAMES_MAX];   /* where each name starts in text */
    uint16_t size[NAMES_MAX]; /* and how long it is */
    size_t count;
};

static struct slice
name_at(const struct names *names, size_t i)
{
    return slice_make(names->text.p + names->at[i], names->size[i]);
}

static void
swap(struct names *names, size_t a, size_t b)
{
    uint32_t at = names->at[a];
    uint16_t size = names->size[a];

    names->at[a] = names->at[b];
    names->size[a] = names->size[b];
    names->at[b] = at;
    names->size[b] = size;
}

static void
sift_down(struct names *names, size_t root, size_t count)
{
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && slice_cmp(name_at(names, child), name_at(names, child + 1)) < 0)
            child++;
        if (slice_cmp(name_at(names, root), name_at(names, child)) >= 0)
            return;
        swap(names, root, child);
        root = child;
    }
}

static void
sort(struct names *names)
{
    for (size_t i = names->count / 2; i > 0; i--)
        sift_down(names, i - 1, names->count);
    for (size_t left = names->count; left > 1; left--) {
        swap(names, 0, left - 1);
        sift_down(names, 0, left - 1);
    }
}

static void
add(struct names *names, struct slice name)
{
    names->at[names->count] = (uint32_t)(name.p - names->text.p);
    names->size[names->count] = (uint16_t)name.n;
    names->count++;
}

bool
lineproto_dups_few(const struct slice *names, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (slice_eq(names[i], names[j]))
                return true;
    return false;
}

static bool
tags_repeat(struct slice tags)
{
    struct names names;
    struct slice rest = tags;
    struct point_tag tag;

    names.text = tags;
    names.count = 0;
    while (names.count < NAMES_MAX && point_next_tag(&rest, &tag))
        add(&names, tag.key);
    sort(&names);
    for (size_t i = 1; i < names.count; i++)
        if (slice_eq(name_at(&names, i - 1), name_at(&names, i)))
            return true;
    return false;
}

bool
lineproto_dups_tags(struct slice tags)
{
    struct slice before = {NULL, 0}, rest = tags;
    struct point_tag tag;

    while (point_next_tag(&rest, &tag)) {
        int order = before.p == NULL ? -1 : slice_cmp(before, tag.key);
        if (order == 0)
            return true;
        if (order > 0)
            return tags_repeat(tags);
        before = tag.key;
    }
    return false;
}

/* The type of a checked value, told by its first and last byte; as enum point_type. */
static enum point_type
type_of(struct slice value)
{
    uint8_t first = value.p[0], last = value.p[value.n - 1];

    if (first == '"')
        return POINT_TEXT;
    if ((first < '0' || first > '9') && first != '-' && first != '.')
        return POINT_BOOLEAN;
    return last == 'i' ? POINT_INTEGER : last == 'u' ? POINT_UNSIGNED : POINT_FLOAT;
}

static enum point_type
type_behind(const struct names *names, size_t i)
{
    struct slice rest = slice_from(names->text, names->at[i]), key, value;

    (void)point_cut_field(&rest, &key, &value);
    return type_of(value);
}

static enum lineproto_dups
sorted_fields_conflict(struct slice fields, struct slice *key)
{
    struct names names;
    struct slice rest = fields, name, value;

    names.text = fields;
    names.count = 0;
    while (point_cut_field(&rest, &name, &value)) {
        if (names.count == NAMES_MAX)
            return LINEPROTO_DUPS_MANY;
        add(&names, name);
    }
    sort(&names);
    for (size_t i = 1; i < names.count; i++)
        if (slice_eq(name_at(&names, i - 1), name_at(&names, i)) &&
            type_behind(&names, i - 1) != type_behind(&names, i)) {
            *key = name_at(&names, i);
            return LINEPROTO_DUPS_TYPES;
        }
    return LINEPROTO_DUPS_NONE;
}

enum lineproto_dups
lineproto_dups_fields(struct slice fields, struct slice *key)
{
    struct slice rest = fields, name, value;
    unsigned types = 0;

    while (point_cut_field(&rest, &name, &value))
        types |= 1U << type_of(value);
    if ((types & (types - 1)) == 0)
        return LINEPROTO_DUPS_NONE;
    return sorted_fields_conflict(fields, key);
}
