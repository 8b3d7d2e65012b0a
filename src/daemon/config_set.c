/*
 * config_set.c: types, limits and storage of one key.
 */
#include "daemon/config_set.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static enum err wrong(char note[CONFIG_SET_NOTE], const char *format, ...) PRINTF_LIKE(2, 3);

static enum err
wrong(char note[CONFIG_SET_NOTE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(note, CONFIG_SET_NOTE, format, args);
    va_end(args);
    return ERR_CONFIG;
}

static void *
place(struct config *c, const struct config_key *k)
{
    return (char *)c + k->offset;
}

/* Members have the integer type that their users want; copying by size fits them all. */
static void
store_integer(struct config *c, const struct config_key *k, int64_t v)
{
    uint8_t v8 = (uint8_t)v;
    uint16_t v16 = (uint16_t)v;
    uint32_t v32 = (uint32_t)v;
    const void *from = &v;

    switch (k->size) {
    case 1:
        from = &v8;
        break;
    case 2:
        from = &v16;
        break;
    case 4:
        from = &v32;
        break;
    default:
        assert(k->size == 8);
    }
    memcpy(place(c, k), from, k->size);
}

static enum err
store_text(struct config *c, const struct config_key *k, struct slice text)
{
    char **member = place(c, k);
    char *copy = NULL;

    if (text.n > 0) {
        copy = mem_text(text);
        if (copy == NULL)
            return ERR_NOMEM;
    }
    mem_free(*member);
    *member = copy;
    return ERR_OK;
}

static void
free_list(struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->items[i]);
    mem_free(list->items);
    *list = (struct config_list){NULL, 0};
}

static enum err
store_list(struct config *c, const struct config_key *k, struct slice text, size_t count)
{
    struct config_list *member = place(c, k), list = {NULL, 0};
    struct slice one;

    if (count > 0 && (list.items = mem_array(count, sizeof(*list.items))) == NULL)
        return ERR_NOMEM;
    while (list.count < count && slice_split(&text, 0, &one)) {
        list.items[list.count] = mem_text(one);
        if (list.items[list.count] == NULL) {
            free_list(&list);
            return ERR_NOMEM;
        }
        list.count++;
    }
    free_list(member);
    *member = list;
    return ERR_OK;
}

enum err
config_set_default(struct config *c, const struct config_key *k)
{
    switch (k->type) {
    case CONFIG_TEXT:
        return store_text(c, k, slice_of(k->text));
    case CONFIG_CHOICE:
    case CONFIG_INTEGER:
    case CONFIG_BOOLEAN:
        store_integer(c, k, k->number);
        return ERR_OK;
    case CONFIG_LIST:
        return ERR_OK;
    }
    return ERR_BAD;
}

static enum err
set_integer(struct config *c, const struct config_key *k, int64_t v, char note[CONFIG_SET_NOTE])
{
    if (v < k->min)
        return wrong(note, "%lld is below the smallest value, %lld", (long long)v,
                     (long long)k->min);
    if (v > k->max)
        return wrong(note, "%lld is above the largest value, %lld", (long long)v,
                     (long long)k->max);
    if (v > k->cap) {
        (void)wrong(note, "%lld is more than this machine can address: %lld is used instead",
                    (long long)v, (long long)k->cap);
        v = k->cap;
    }
    store_integer(c, k, v);
    return ERR_OK;
}

static enum err
set_text(struct config *c, const struct config_key *k, struct slice text,
         char note[CONFIG_SET_NOTE])
{
    if (text.n == 0 && k->text != NULL)
        return wrong(note, "must not be empty");
    if (text.n > (size_t)k->max)
        return wrong(note, "is longer than %lld bytes", (long long)k->max);
    return store_text(c, k, text);
}

static enum err
set_choice(struct config *c, const struct config_key *k, struct slice text,
           char note[CONFIG_SET_NOTE])
{
    size_t n = 0;

    for (int i = 0; k->choices[i] != NULL; i++) {
        if (slice_eq(text, slice_of(k->choices[i]))) {
            store_integer(c, k, i);
            return ERR_OK;
        }
    }
    (void)wrong(note, "must be one of:");
    for (int i = 0; k->choices[i] != NULL; i++) {
        n = strlen(note);
        (void)snprintf(note + n, CONFIG_SET_NOTE - n, " \"%s\"", k->choices[i]);
    }
    return ERR_CONFIG;
}

static enum err
set_list(struct config *c, const struct config_key *k, const struct toml_value *v,
         char note[CONFIG_SET_NOTE])
{
    struct slice rest = v->text, one;

    if (v->count > (size_t)k->max)
        return wrong(note, "holds more than %lld strings", (long long)k->max);
    while (slice_split(&rest, 0, &one)) {
        if (one.n == 0)
            return wrong(note, "holds an empty string");
    }
    return store_list(c, k, v->text, v->count);
}

static const char *
type_name(enum config_type type)
{
    switch (type) {
    case CONFIG_TEXT:
    case CONFIG_CHOICE:
        return "a string in quotes";
    case CONFIG_INTEGER:
        return "a whole number without quotes";
    case CONFIG_BOOLEAN:
        return "true or false, without quotes";
    case CONFIG_LIST:
        return "an array of strings, [\"a\", \"b\"]";
    }
    return "";
}

enum err
config_set_value(struct config *c, const struct config_key *k, const struct toml_value *v,
                 char note[CONFIG_SET_NOTE])
{
    static const enum toml_type wanted[] = {[CONFIG_TEXT] = TOML_STRING,
                                            [CONFIG_CHOICE] = TOML_STRING,
                                            [CONFIG_INTEGER] = TOML_INTEGER,
                                            [CONFIG_BOOLEAN] = TOML_BOOLEAN,
                                            [CONFIG_LIST] = TOML_STRINGS};

    note[0] = '\0';
    if (v->type != wanted[k->type])
        return wrong(note, "must be %s", type_name(k->type));
    switch (k->type) {
    case CONFIG_TEXT:
        return set_text(c, k, v->text, note);
    case CONFIG_CHOICE:
        return set_choice(c, k, v->text, note);
    case CONFIG_INTEGER:
        return set_integer(c, k, v->integer, note);
    case CONFIG_BOOLEAN:
        store_integer(c, k, v->boolean);
        return ERR_OK;
    case CONFIG_LIST:
        return set_list(c, k, v, note);
    }
    return ERR_BAD;
}

static enum err
split_commas(struct slice text, struct buf *out, size_t *count)
{
    struct slice one;
    enum err err = ERR_OK;

    *count = 0;
    while (err == ERR_OK && slice_split(&text, ',', &one)) {
        err = buf_add(out, slice_trim(one));
        if (err == ERR_OK)
            err = buf_add_byte(out, 0);
        ++*count;
    }
    return err;
}

static enum err
set_list_text(struct config *c, const struct config_key *k, struct slice text,
              char note[CONFIG_SET_NOTE])
{
    struct toml_value v = {.type = TOML_STRINGS};
    struct buf strings;
    enum err err;

    buf_init(&strings, TOML_VALUE_MAX);
    err = split_commas(text, &strings, &v.count);
    v.text = buf_peek(&strings);
    if (err == ERR_OK)
        err = config_set_value(c, k, &v, note);
    buf_free(&strings);
    return err;
}

enum err
config_set_text(struct config *c, const struct config_key *k, struct slice text,
                char note[CONFIG_SET_NOTE])
{
    struct toml_value v = {.type = TOML_STRING, .text = text};

    note[0] = '\0';
    if (text.n > TOML_VALUE_MAX / 2)
        return wrong(note, "is longer than %d bytes", TOML_VALUE_MAX / 2);
    if (!text_is_utf8(text))
        return wrong(note, "is not valid UTF-8");
    if (k->type == CONFIG_LIST)
        return set_list_text(c, k, text, note);
    if (k->type == CONFIG_INTEGER) {
        v.type = TOML_INTEGER;
        if (toml_integer(text, &v.integer) != ERR_OK)
            return wrong(note, "must be a whole number");
    }
    if (k->type == CONFIG_BOOLEAN) {
        v.type = TOML_BOOLEAN;
        v.boolean = slice_eq(text, SLICE("true"));
        if (!v.boolean && !slice_eq(text, SLICE("false")))
            return wrong(note, "must be true or false");
    }
    return config_set_value(c, k, &v, note);
}

bool
config_set_is_on(const struct config *c, const struct config_key *k)
{
    const char *at = (const char *)c + k->offset;
    const char *text = NULL;
    struct config_list list = {NULL, 0};
    bool on = false;

    switch (k->type) {
    case CONFIG_TEXT:
        memcpy(&text, at, sizeof(text));
        return text != NULL;
    case CONFIG_BOOLEAN:
        memcpy(&on, at, sizeof(on));
        return on;
    case CONFIG_LIST:
        memcpy(&list, at, sizeof(list));
        return list.count > 0;
    case CONFIG_CHOICE:
    case CONFIG_INTEGER:
        break;
    }
    return false;
}

void
config_set_free(struct config *c, const struct config_key *k)
{
    if (k->type == CONFIG_TEXT)
        (void)store_text(c, k, SLICE(""));
    else if (k->type == CONFIG_LIST)
        free_list(place(c, k));
}
