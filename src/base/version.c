/*
 * version.c: see version.h.
 */
#include "base/version.h"

#include "config.h"

const char *
version_text(void)
{
    return SINKD_VERSION;
}

const char *
version_options(void)
{
    return SINKD_BUILD_OPTIONS;
}
