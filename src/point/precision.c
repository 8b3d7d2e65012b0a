/*
 * precision.c: names and units of timestamps. See precision.h.
 */
#include "point/precision.h"

#include <stddef.h>

struct spelling {
    struct slice text;
    enum precision precision;
};

static const struct spelling spellings[] = {
    {SLICE_INIT(""), PRECISION_NS},          {SLICE_INIT("n"), PRECISION_NS},
    {SLICE_INIT("ns"), PRECISION_NS},        {SLICE_INIT("u"), PRECISION_US},
    {SLICE_INIT("us"), PRECISION_US},        {SLICE_INIT("\xc2\xb5"), PRECISION_US},
    {SLICE_INIT("\xc2\xb5s"), PRECISION_US}, {SLICE_INIT("ms"), PRECISION_MS},
    {SLICE_INIT("s"), PRECISION_S},          {SLICE_INIT("m"), PRECISION_M},
    {SLICE_INIT("h"), PRECISION_H},
};

enum err
precision_parse(struct slice text, enum precision *out)
{
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
        if (slice_eq(text, spellings[i].text)) {
            *out = spellings[i].precision;
            return ERR_OK;
        }
    return ERR_BAD;
}

const char *
precision_name(enum precision p)
{
    switch (p) {
    case PRECISION_NS:
        return "ns";
    case PRECISION_US:
        return "us";
    case PRECISION_MS:
        return "ms";
    case PRECISION_S:
        return "s";
    case PRECISION_M:
        return "m";
    case PRECISION_H:
        return "h";
    }
    return "ns";
}

int64_t
precision_unit_ns(enum precision p)
{
    switch (p) {
    case PRECISION_NS:
        return 1;
    case PRECISION_US:
        return 1000;
    case PRECISION_MS:
        return 1000000;
    case PRECISION_S:
        return 1000000000;
    case PRECISION_M:
        return INT64_C(60000000000);
    case PRECISION_H:
        return INT64_C(3600000000000);
    }
    return 1;
}

int64_t
precision_from_ns(int64_t ns, enum precision p)
{
    int64_t unit = precision_unit_ns(p);
    int64_t whole = ns / unit;

    return ns % unit < 0 ? whole - 1 : whole;
}
