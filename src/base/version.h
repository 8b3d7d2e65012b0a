/*
 * version.h: which sinkd this is.
 */
#ifndef SINKD_BASE_VERSION_H
#define SINKD_BASE_VERSION_H

/* version_text(): the program's version, "0.1.0"; version_options(): what configure built in.
 * Static strings. */
const char *version_text(void);
const char *version_options(void);

#endif
