/*
 * config_set.h: one value into its place in struct config, checked against its row of the table.
 * Not for: what needs two keys to judge; that is config_check.c.
 */
#ifndef SINKD_DAEMON_CONFIG_SET_H
#define SINKD_DAEMON_CONFIG_SET_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "daemon/toml.h"

#define CONFIG_SET_NOTE 200

/* config_set_default(c, k): the default of ${k}; what stood there must be zero. ERR_NOMEM. */
enum err config_set_default(struct config *c, const struct config_key *k) MUST_USE;

/*
 * config_set_value(c, k, v, note):
 * Errors: ERR_CONFIG: ${note} says what is wrong with the value, ${c} is as before. ERR_NOMEM.
 *         With ERR_OK ${note} is empty or a warning.
 */
enum err config_set_value(struct config *c, const struct config_key *k, const struct toml_value *v,
                          char note[CONFIG_SET_NOTE]) MUST_USE;

/* config_set_text(c, k, text, note): the same from an environment variable: strings without quotes,
 * arrays as a list with commas. */
enum err config_set_text(struct config *c, const struct config_key *k, struct slice text,
                         char note[CONFIG_SET_NOTE]) MUST_USE;

/* config_set_is_on(c, k): whether a BOOLEAN is true, a TEXT is given, a LIST is not empty. */
bool config_set_is_on(const struct config *c, const struct config_key *k);

/* config_set_free(c, k): free what the key holds. */
void config_set_free(struct config *c, const struct config_key *k);

#endif
