/*
 * config_parts.c: the table of missing parts.
 */
#include "daemon/config_parts.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *section, *key, *part;
} missing[] = {
    {"server", "tls_enabled", "TLS"},
    {"server", "user", "changing the user"},
    {"server", "group", "changing the group"},
    {"storage", "secrets_key_file", "sealing of secrets"},
    {"auth", "enabled", "authentication"},
    {"cluster", "follow_url", "following a hub"},
};

const char *
config_parts_missing(const struct config_key *k)
{
    for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
        if (strcmp(missing[i].section, k->section) == 0 && strcmp(missing[i].key, k->key) == 0)
            return missing[i].part;
    }
    return NULL;
}
