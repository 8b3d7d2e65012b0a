/*
 * config_parts.h: keys whose part of the program this build does not have.
 *
 * Such a key must not be ignored: who asks for TLS or for users must never run open by accident.
 * Whoever builds the part removes its rows.
 */
#ifndef SINKD_DAEMON_CONFIG_PARTS_H
#define SINKD_DAEMON_CONFIG_PARTS_H

#include "daemon/config_keys.h"

/* config_parts_missing(k): what the build lacks for ${k}, in words, or NULL when it has it. */
const char *config_parts_missing(const struct config_key *k);

#endif
