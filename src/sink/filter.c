/*
 * filter.c: see filter.h.
 */
#include "sink/filter.h"

#include <regex.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/text.h"

/* The longest measurement there is, with a NUL: a line's key is no longer. */
#define NAME_MAX_BYTES 65536u

/* Names longer than this are judged anew each time. */
#define REMEMBERED_NAME 62
#define REMEMBERED 256

/* One name and its verdict; an empty entry has length 0 (no measurement is empty). */
struct remembered {
    uint8_t length, wanted;
    uint8_t name[REMEMBERED_NAME];
};

struct filter {
    const struct sink_def *def;
    regex_t *include, *exclude; /* one a selector; only those of SELECTOR_REGEX are compiled */
    struct buf text;            /* a name with its NUL, for regexec; made when it is opened */
    bool failed; /* an expression could not be asked since the last filter_failed() */
    struct remembered seen[REMEMBERED];
};

static void
free_list(regex_t *compiled, const struct selector_list *list)
{
    for (size_t i = 0; compiled != NULL && i < list->count; i++) {
        if (list->list[i].kind == SELECTOR_REGEX)
            regfree(&compiled[i]);
    }
    mem_free(compiled);
}

static enum err
compile_list(regex_t **out, const struct selector_list *list, struct errinfo *info)
{
    regex_t *compiled;

    if (list->count == 0)
        return ERR_OK;
    compiled = mem_array(list->count, sizeof(*compiled));
    if (compiled == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a filter");
    for (size_t i = 0; i < list->count; i++) {
        if (list->list[i].kind == SELECTOR_REGEX &&
            regcomp(&compiled[i], list->list[i].text, REG_EXTENDED | REG_NOSUB) != 0) {
            struct selector_list before = {list->list, i};

            free_list(compiled, &before);
            return errinfo_set(info, ERR_CONFIG, "regular expression /%.60s/ does not compile",
                               list->list[i].text);
        }
    }
    *out = compiled;
    return ERR_OK;
}

static bool
has_regex(const struct selector_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->list[i].kind == SELECTOR_REGEX)
            return true;
    }
    return false;
}

enum err
filter_open(struct filter **out, const struct sink_def *def, struct errinfo *info)
{
    struct filter *f = mem_zalloc(sizeof(*f));
    enum err err;

    if (f == NULL)
        return errinfo_set(info, ERR_NOMEM, "no memory for a filter");
    f->def = def;
    buf_init(&f->text, NAME_MAX_BYTES);
    err = compile_list(&f->include, &def->include, info);
    if (err == ERR_OK)
        err = compile_list(&f->exclude, &def->exclude, info);
    if (err == ERR_OK && (has_regex(&def->include) || has_regex(&def->exclude)) &&
        buf_reserve(&f->text, NAME_MAX_BYTES) == NULL)
        err = errinfo_set(info, ERR_NOMEM, "no memory for a filter");
    if (err != ERR_OK) {
        filter_close(f);
        return err;
    }
    *out = f;
    return ERR_OK;
}

void
filter_close(struct filter *f)
{
    if (f == NULL)
        return;
    free_list(f->include, &f->def->include);
    free_list(f->exclude, &f->def->exclude);
    buf_free(&f->text);
    mem_free(f);
}

bool
filter_database(struct filter *f, struct slice database)
{
    const struct selector_list *list = &f->def->databases;

    for (size_t i = 0; i < list->count; i++) {
        if (slice_eq(slice_of(list->list[i].text), database))
            return true;
    }
    return list->count == 0;
}

/* A name may hold NUL bytes, which regexec cannot see: they stand as 0x01 there. */
static bool
regex_matches(struct filter *f, const regex_t *compiled, struct slice name)
{
    uint8_t *text;
    int code;

    buf_clear(&f->text);
    text = buf_reserve(&f->text, name.n + 1);
    if (text == NULL) {
        f->failed = true;
        return false;
    }
    for (size_t i = 0; i < name.n; i++)
        text[i] = name.p[i] == 0 ? 1 : name.p[i];
    text[name.n] = 0;
    code = regexec(compiled, (const char *)text, 0, NULL, 0);
    f->failed = f->failed || (code != 0 && code != REG_NOMATCH);
    return code == 0;
}

static bool
any_matches(struct filter *f, const struct selector_list *list, const regex_t *compiled,
            struct slice name)
{
    for (size_t i = 0; i < list->count; i++) {
        struct slice text = slice_of(list->list[i].text);

        switch (list->list[i].kind) {
        case SELECTOR_NAME:
            if (slice_eq(text, name))
                return true;
            break;
        case SELECTOR_GLOB:
            if (text_glob(text, name))
                return true;
            break;
        case SELECTOR_REGEX:
            if (regex_matches(f, &compiled[i], name))
                return true;
            break;
        }
    }
    return false;
}

static bool
judge(struct filter *f, struct slice name)
{
    if (f->def->include.count > 0 && !any_matches(f, &f->def->include, f->include, name))
        return false;
    return !any_matches(f, &f->def->exclude, f->exclude, name);
}

bool
filter_measurement(struct filter *f, struct slice name)
{
    struct remembered *seen;

    if (f->def->include.count == 0 && f->def->exclude.count == 0)
        return true;
    if (name.n == 0 || name.n > REMEMBERED_NAME)
        return judge(f, name);
    seen = &f->seen[crc32c(0, name.p, name.n) % REMEMBERED];
    if (!slice_eq(slice_make(seen->name, seen->length), name)) {
        seen->length = 0;
        seen->wanted = judge(f, name);
        if (f->failed)
            return seen->wanted != 0;
        seen->length = (uint8_t)name.n;
        memcpy(seen->name, name.p, name.n);
    }
    return seen->wanted != 0;
}

bool
filter_failed(struct filter *f)
{
    bool failed = f->failed;

    f->failed = false;
    return failed;
}

static bool
want_database(void *arg, struct slice database)
{
    return filter_database(arg, database);
}

static bool
want_measurement(void *arg, struct slice name)
{
    return filter_measurement(arg, name);
}

struct store_want
filter_want(struct filter *f)
{
    return (struct store_want){want_database, want_measurement, f};
}
