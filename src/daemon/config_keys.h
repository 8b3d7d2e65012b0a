/*
 * config_keys.h: the one table of configuration keys.
 *
 * Everything that knows the keys reads it here: setting defaults, reading the file and the
 * environment, the checks of sinkd.toml and of docs/user-guide/configuration.md.
 * Adding a key: a member in config.h, a row here, a line in those two files.
 */
#ifndef SINKD_DAEMON_CONFIG_KEYS_H
#define SINKD_DAEMON_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

enum config_type {
    CONFIG_TEXT,    /* a string; NULL (none) when its default is NULL and "" was given */
    CONFIG_CHOICE,  /* a string out of a few; stored as its index, an enum */
    CONFIG_INTEGER, /* stored as any unsigned or signed integer type */
    CONFIG_BOOLEAN,
    CONFIG_LIST /* an array of strings; empty by default */
};

#define CONFIG_CHOICES 5 /* the most of one key, with a NULL behind the last */

struct config_key {
    const char *section, *key;
    enum config_type type;
    const char *help; /* one line */
    size_t offset;    /* of the member in struct config */
    size_t size;      /* of the member */
    const char *text; /* TEXT: the default */
    int64_t number;   /* INTEGER, BOOLEAN, CHOICE (an index): the default */
    int64_t min, max; /* INTEGER: smallest and largest; TEXT: bytes; LIST: strings */
    int64_t cap;      /* INTEGER: what this machine's addresses hold; more is cut with a warning */
    const char *choices[CONFIG_CHOICES];
};

/* The longest string in the configuration, in bytes. */
#define CONFIG_TEXT_MAX 4095

/* config_keys_all(count): the table, section by section, ${count} rows. */
const struct config_key *config_keys_all(size_t *count);

/* config_keys_find(section, key): NULL when there is none. */
const struct config_key *config_keys_find(struct slice section, struct slice key);

/* config_keys_put_default(k, out): append the default as it stands in a TOML file; none is "". */
enum err config_keys_put_default(const struct config_key *k, struct buf *out) MUST_USE;

#endif
