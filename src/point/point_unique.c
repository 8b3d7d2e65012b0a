/*
 * point_unique.c: see point_unique.h.
 *
 * A few names are compared each with each. Many are sorted by a hash of their text, then by the
 * text: a heap sort in the spare room of the caller's buffer, which has no bad case to be sent on
 * purpose.
 */
#include "point/point_unique.h"

#include <string.h>

#include "base/text.h"
#include "base/wire.h"
#include "point/point.h"

#define ENTRY 8u /* hash, offset: 4 bytes each */
#define LISTED 4u
#define SLOW 0u /* the fingerprint of a name that is not its own text */

struct names {
    struct slice list;
    enum point_unique_kind kind;
    uint8_t *entries;
    size_t count;
};

static bool
next_name(enum point_unique_kind kind, struct slice *rest, struct slice *name)
{
    struct point_tag tag;
    struct slice value;

    if (kind != POINT_UNIQUE_TAGS_UTF8)
        return point_cut_field(rest, name, &value);
    if (!point_next_tag(rest, &tag))
        return false;
    *name = tag.key;
    return true;
}

/* The text of a raw name, character by character; an invalid byte as U+FFFD where asked. */
struct view {
    struct slice raw;
    enum point_part part;
    bool utf8;
    size_t i, held;
    uint8_t window[4];
};

static void
view_open(struct view *v, enum point_unique_kind kind, struct slice raw)
{
    v->raw = raw;
    v->part = kind == POINT_UNIQUE_TAGS_UTF8 ? POINT_TAG : POINT_FIELD_KEY;
    v->utf8 = kind != POINT_UNIQUE_FIELDS;
    v->i = v->held = 0;
}

static void
view_fill(struct view *v)
{
    while (v->held < sizeof(v->window) && v->i < v->raw.n)
        v->window[v->held++] = point_next_byte(v->part, v->raw, &v->i);
}

static bool
view_next(struct view *v, uint32_t *unit)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    const uint8_t *bytes = v->window;
    size_t n = 1, taken = 1;

    view_fill(v);
    if (v->held == 0)
        return false;
    if (v->utf8) {
        n = taken = text_utf8(slice_make(v->window, v->held));
        if (n == 0) {
            bytes = replacement;
            n = sizeof(replacement);
            taken = 1;
        }
    }
    *unit = 0;
    for (size_t i = 0; i < n; i++)
        *unit = *unit << 8 | bytes[i];
    v->held -= taken;
    memmove(v->window, v->window + taken, v->held);
    return true;
}

static uint32_t
hash_of(enum point_unique_kind kind, struct slice raw)
{
    struct view v;
    uint32_t hash = 2166136261u, unit;

    view_open(&v, kind, raw);
    while (view_next(&v, &unit))
        hash = (hash ^ unit) * 16777619u;
    return hash ^ hash >> 15;
}

static int
text_order(enum point_unique_kind kind, struct slice a, struct slice b)
{
    struct view va, vb;
    uint32_t ua = 0, ub = 0;
    bool more_a, more_b;

    if (slice_eq(a, b))
        return 0;
    view_open(&va, kind, a);
    view_open(&vb, kind, b);
    do {
        more_a = view_next(&va, &ua);
        more_b = view_next(&vb, &ub);
    } while (more_a && more_b && ua == ub);
    if (!more_a || !more_b)
        return more_a ? 1 : more_b ? -1 : 0;
    return ua < ub ? -1 : 1;
}

/* ---- few ---- */

/* A name that is its own text as it stands has a fingerprint; others are compared the long way. */
static uint32_t
fingerprint(enum point_unique_kind kind, struct slice raw)
{
    if (!point_is_plain(raw) || raw.n == 0)
        return SLOW;
    for (size_t i = 0; kind != POINT_UNIQUE_FIELDS && i < raw.n; i++)
        if (raw.p[i] >= 0x80)
            return SLOW;
    return (uint32_t)raw.n << 16 | (uint32_t)raw.p[raw.n - 1] << 8 | raw.p[0];
}

static bool
same_few(enum point_unique_kind kind, uint32_t mark_a, struct slice a, uint32_t mark_b,
         struct slice b)
{
    if (mark_a != SLOW && mark_b != SLOW)
        return mark_a == mark_b && slice_eq(a, b);
    return text_order(kind, a, b) == 0;
}

/* False: they are more than a few. */
static bool
find_few(struct point_unique *u, enum point_unique_kind kind, struct slice list)
{
    struct slice names[POINT_UNIQUE_FEW], rest = list, more;
    uint32_t marks[POINT_UNIQUE_FEW];
    size_t n = 0;

    for (; n < POINT_UNIQUE_FEW && next_name(kind, &rest, &names[n]); n++)
        marks[n] = fingerprint(kind, names[n]);
    if (n == POINT_UNIQUE_FEW && next_name(kind, &rest, &more))
        return false;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (same_few(kind, marks[i], names[i], marks[j], names[j])) {
                u->few[u->over++] = (uint32_t)(names[i].p - list.p);
                break;
            }
        }
    }
    u->count = n - u->over;
    return true;
}

/* ---- many ---- */

static struct slice
name_at(const struct names *names, uint32_t offset)
{
    struct slice rest = slice_from(names->list, offset), name = {NULL, 0};

    (void)next_name(names->kind, &rest, &name);
    return name;
}

/* By hash, text, place. */
static int
entry_order(const struct names *names, const uint8_t *a, const uint8_t *b, bool *same)
{
    uint32_t hash_a = load_le32(a), hash_b = load_le32(b);
    uint32_t at_a = load_le32(a + 4), at_b = load_le32(b + 4);
    int order;

    *same = false;
    if (hash_a != hash_b)
        return hash_a < hash_b ? -1 : 1;
    order = text_order(names->kind, name_at(names, at_a), name_at(names, at_b));
    if (order != 0)
        return order;
    *same = true;
    return at_a < at_b ? -1 : at_a > at_b;
}

/* By place alone, for the finished list. */
static int
listed_order(const uint8_t *a, const uint8_t *b)
{
    uint32_t at_a = load_le32(a), at_b = load_le32(b);

    return at_a < at_b ? -1 : at_a > at_b;
}

static int
order_of(const struct names *names, size_t size, const uint8_t *a, const uint8_t *b)
{
    bool same;

    return size == ENTRY ? entry_order(names, a, b, &same) : listed_order(a, b);
}

static void
swap(uint8_t *a, uint8_t *b, size_t size)
{
    uint8_t kept[ENTRY];

    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

static void
sift_down(const struct names *names, size_t size, size_t root, size_t count)
{
    uint8_t *at = names->entries;

    for (;;) {
        size_t child = 2 * root + 1;

        if (child >= count)
            return;
        if (child + 1 < count &&
            order_of(names, size, at + child * size, at + (child + 1) * size) < 0)
            child++;
        if (order_of(names, size, at + root * size, at + child * size) >= 0)
            return;
        swap(at + root * size, at + child * size, size);
        root = child;
    }
}

static void
sort(const struct names *names, size_t size, size_t count)
{
    for (size_t i = count / 2; i > 0; i--)
        sift_down(names, size, i - 1, count);
    for (size_t left = count; left > 1; left--) {
        swap(names->entries, names->entries + (left - 1) * size, size);
        sift_down(names, size, 0, left - 1);
    }
}

/* Of the sorted entries, list in front the places of those that another follows. */
static size_t
list_over(const struct names *names)
{
    size_t over = 0;
    bool same;

    for (size_t i = 0; i + 1 < names->count; i++) {
        const uint8_t *entry = names->entries + i * ENTRY;

        (void)entry_order(names, entry, entry + ENTRY, &same);
        if (same)
            store_le32(names->entries + over++ * LISTED, load_le32(entry + 4));
    }
    return over;
}

static size_t
count_names(enum point_unique_kind kind, struct slice list)
{
    struct slice rest = list, name;
    size_t n = 0;

    while (next_name(kind, &rest, &name))
        n++;
    return n;
}

static enum err
find_many(struct point_unique *u, struct names *names, struct buf *out)
{
    struct slice rest = names->list, name;
    uint8_t *entry;

    if (names->list.n > UINT32_MAX)
        return ERR_RANGE;
    names->entries = buf_reserve(out, names->count * ENTRY);
    if (names->entries == NULL)
        return ERR_NOMEM;
    for (entry = names->entries; next_name(names->kind, &rest, &name); entry += ENTRY) {
        store_le32(entry, hash_of(names->kind, name));
        store_le32(entry + 4, (uint32_t)(name.p - names->list.p));
    }
    sort(names, ENTRY, names->count);
    u->over = list_over(names);
    u->count = names->count - u->over;
    sort(names, LISTED, u->over);
    if (u->over <= POINT_UNIQUE_FEW) {
        for (size_t i = 0; i < u->over; i++)
            u->few[i] = load_le32(names->entries + i * LISTED);
        return ERR_OK;
    }
    u->base = buf_len(out);
    u->bytes = u->over * LISTED;
    buf_commit(out, u->bytes);
    return ERR_OK;
}

enum err
point_unique_find(struct point_unique *u, enum point_unique_kind kind, struct slice list,
                  struct buf *out)
{
    struct names names = {list, kind, NULL, 0};

    u->count = u->over = u->bytes = u->at = u->base = 0;
    if (find_few(u, kind, list))
        return ERR_OK;
    names.count = count_names(kind, list);
    return find_many(u, &names, out);
}

bool
point_unique_skips(struct point_unique *u, const struct buf *out, size_t offset)
{
    uint32_t next;

    if (u->at == u->over)
        return false;
    next = u->bytes == 0 ? u->few[u->at] : load_le32(buf_peek(out).p + u->base + u->at * LISTED);
    if (next != offset)
        return false;
    u->at++;
    return true;
}

void
point_unique_drop(const struct point_unique *u, struct buf *out)
{
    uint8_t *list = out->data == NULL ? NULL : out->data + out->head + u->base;
    size_t behind = buf_len(out) - u->base - u->bytes;

    if (u->bytes == 0)
        return;
    memmove(list, list + u->bytes, behind);
    buf_cut(out, u->base + behind);
}
