/*
 * config.c: defaults, then the file, then the environment; then the rules between keys.
 * Every error is reported, so nothing here stops at the first one but a lack of memory.
 */
#include "daemon/config.h"

#include <config.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/slice.h"
#include "daemon/config_check.h"
#include "daemon/config_keys.h"
#include "daemon/config_report.h"
#include "daemon/config_set.h"
#include "daemon/toml.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define SECTIONS_MAX 32

struct load {
    struct config *c;
    struct config_report *report;
    struct config_origin *origins; /* one for each row of the table */
    const struct config_key *keys;
    size_t count;
    const char *sections[SECTIONS_MAX]; /* seen in the file: names of the table */
    unsigned section_lines[SECTIONS_MAX];
    size_t section_count;
};

enum err
config_init(struct config *c)
{
    size_t count;
    const struct config_key *keys = config_keys_all(&count);
    enum err err = ERR_OK;

    memset(c, 0, sizeof(*c));
    for (size_t i = 0; i < count && err == ERR_OK; i++)
        err = config_set_default(c, &keys[i]);
    return err;
}

void
config_free(struct config *c)
{
    size_t count;
    const struct config_key *keys = config_keys_all(&count);

    for (size_t i = 0; i < count; i++)
        config_set_free(c, &keys[i]);
    mem_free(c->file);
    c->file = NULL;
}

/* Whole file into ${out}. Returns 0 or an errno. */
static int
read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), sys = 0;
    ssize_t n = 1;

    if (fd < 0)
        return errno;
    while (n != 0 && sys == 0) {
        uint8_t *room = buf_reserve(out, 4096);

        if (room == NULL) {
            sys = buf_len(out) + 4096 > FILE_MAX_BYTES ? EFBIG : ENOMEM;
            break;
        }
        n = read(fd, room, 4096);
        if (n > 0)
            buf_commit(out, (size_t)n);
        else if (n < 0 && errno != EINTR)
            sys = errno;
    }
    (void)close(fd);
    return sys;
}

/* The section of the table named so, remembered; NULL after a finding. */
static const char *
enter_section(struct load *l, const struct toml_item *item)
{
    const char *section = NULL;

    for (size_t i = 0; i < l->count && section == NULL; i++) {
        if (slice_eq(slice_of(l->keys[i].section), item->name))
            section = l->keys[i].section;
    }
    if (section == NULL) {
        config_report_add(l->report, true, "%s:%u: unknown section [%.*s]", l->c->file, item->line,
                          SLICE_PRI(item->name));
        return NULL;
    }
    for (size_t i = 0; i < l->section_count; i++) {
        if (l->sections[i] == section) {
            config_report_add(l->report, true, "%s:%u: section [%s] stands in line %u already",
                              l->c->file, item->line, section, l->section_lines[i]);
            return section;
        }
    }
    if (l->section_count < SECTIONS_MAX) {
        l->sections[l->section_count] = section;
        l->section_lines[l->section_count++] = item->line;
    }
    return section;
}

static enum err
take_key(struct load *l, const char *section, const struct toml_item *item)
{
    const struct config_key *k = config_keys_find(slice_of(section), item->name);
    struct config_origin *origin;
    char note[CONFIG_SET_NOTE];
    enum err err;

    if (k == NULL) {
        config_report_add(l->report, true, "%s:%u: unknown key \"%.*s\" in [%s]", l->c->file,
                          item->line, SLICE_PRI(item->name), section);
        return ERR_OK;
    }
    origin = &l->origins[k - l->keys];
    if (origin->line > 0) {
        config_report_add(l->report, true, "%s:%u: %s.%s: is set in line %u already", l->c->file,
                          item->line, section, k->key, origin->line);
        return ERR_OK;
    }
    origin->line = item->line;
    err = config_set_value(l->c, k, &item->value, note);
    if (note[0] != '\0')
        config_report_key(l->report, err == ERR_CONFIG, l->c->file, *origin, k, note);
    return err == ERR_CONFIG ? ERR_OK : err;
}

static void
take_error(struct load *l, const char *section, const struct toml_item *item)
{
    if (section != NULL && item->name.n > 0)
        config_report_add(l->report, true, "%s:%u: %s.%.*s: %s", l->c->file, item->line, section,
                          SLICE_PRI(item->name), item->error);
    else
        config_report_add(l->report, true, "%s:%u: %s", l->c->file, item->line, item->error);
}

static enum err
take_items(struct load *l, struct slice text)
{
    struct toml_reader r;
    struct toml_item item = {.kind = TOML_ERROR};
    const char *section = NULL;
    bool skipping = false; /* keys of an unknown section were all reported by its line */
    enum err err = ERR_OK;

    toml_init(&r, text);
    while (err == ERR_OK && (err = toml_next(&r, &item)) == ERR_OK && item.kind != TOML_END) {
        if (item.kind == TOML_ERROR) {
            take_error(l, section, &item);
        } else if (item.kind == TOML_TABLE) {
            section = enter_section(l, &item);
            skipping = section == NULL;
        } else if (section != NULL) {
            err = take_key(l, section, &item);
        } else if (!skipping) {
            config_report_add(l->report, true, "%s:%u: key \"%.*s\" stands before any [section]",
                              l->c->file, item.line, SLICE_PRI(item.name));
        }
    }
    toml_free(&r);
    return err;
}

/* Read the first of the files that is there. */
static enum err
take_file(struct load *l, const char *path)
{
    static const char *const usual[] = {"./sinkd.toml", SINKD_CONFIG_FILE};
    struct buf text;
    struct errinfo info;
    int sys = ENOENT;
    const char *name = path;
    enum err err = ERR_OK;

    buf_init(&text, FILE_MAX_BYTES);
    if (path != NULL) {
        sys = read_file(path, &text);
    } else {
        for (size_t i = 0; i < 2 && (sys == ENOENT || sys == ENOTDIR); i++) {
            name = usual[i];
            sys = read_file(name, &text);
        }
    }
    if (sys == 0) {
        l->c->file = mem_text(slice_of(name));
        err = l->c->file == NULL ? ERR_NOMEM : take_items(l, buf_peek(&text));
    } else if (path != NULL || (sys != ENOENT && sys != ENOTDIR)) {
        (void)errinfo_sys(&info, ERR_CONFIG, sys, "cannot be read");
        config_report_add(l->report, true, "%s: %s", name, info.text);
    }
    buf_free(&text);
    return err;
}

static enum err
take_variable(struct load *l, struct slice name, struct slice value)
{
    char variable[CONFIG_VARIABLE_MAX], note[CONFIG_SET_NOTE];
    enum err err;

    for (size_t i = 0; i < l->count; i++) {
        if (!slice_eq(name, slice_of(config_report_variable(variable, &l->keys[i]))))
            continue;
        l->origins[i].environment = true;
        err = config_set_text(l->c, &l->keys[i], value, note);
        if (note[0] != '\0')
            config_report_key(l->report, err == ERR_CONFIG, NULL, l->origins[i], &l->keys[i], note);
        return err == ERR_CONFIG ? ERR_OK : err;
    }
    config_report_add(l->report, true,
                      "%.*s: unknown variable: the form is " CONFIG_VARIABLE_PREFIX "SECTION__KEY",
                      SLICE_PRI(slice_to(name, 200)));
    return ERR_OK;
}

static enum err
take_environment(struct load *l, char *const *environment)
{
    enum err err = ERR_OK;

    for (; environment != NULL && *environment != NULL && err == ERR_OK; environment++) {
        struct slice entry = slice_of(*environment);
        size_t equals = slice_find(entry, '=');

        if (slice_starts(entry, SLICE(CONFIG_VARIABLE_PREFIX)))
            err = take_variable(l, slice_to(entry, equals), slice_from(entry, equals + 1));
    }
    return err;
}

static enum err
name_node(struct config *c)
{
    char host[256] = "";

    if (c->server.node_id != NULL)
        return ERR_OK;
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        memcpy(host, "sinkd", sizeof("sinkd"));
    c->server.node_id = mem_text(slice_of(host));
    return c->server.node_id == NULL ? ERR_NOMEM : ERR_OK;
}

enum err
config_load(struct config *c, const char *path, char *const *environment,
            struct config_report *report)
{
    struct load l = {.c = c, .report = report};
    enum err err;

    *report = (struct config_report){.count = 0};
    l.keys = config_keys_all(&l.count);
    err = config_init(c);
    l.origins = mem_array(l.count, sizeof(*l.origins));
    if (err == ERR_OK && l.origins == NULL)
        err = ERR_NOMEM;
    if (err == ERR_OK)
        err = take_file(&l, path);
    if (err == ERR_OK)
        err = take_environment(&l, environment);
    if (err == ERR_OK)
        err = name_node(c);
    if (err == ERR_OK)
        config_check(c, l.origins, report);
    if (err == ERR_OK && report->errors > 0)
        err = ERR_CONFIG;
    mem_free(l.origins);
    return err;
}
