/*
 * err.h: how a failure travels.
 *
 * A function that can fail returns an enum err. Each code is a thing the caller does next, not a
 * place where something broke; the place and the cause stand in a struct errinfo, which is filled
 * once, where the cause is known, and logged once, by the layer that decides.
 */
#ifndef SINKD_BASE_ERR_H
#define SINKD_BASE_ERR_H

#include "base/attr.h"

enum err {
    ERR_OK = 0,  /* done */
    ERR_AGAIN,   /* nothing can be done now: wait, then call again */
    ERR_SHORT,   /* the input ends too early: bring more bytes */
    ERR_BAD,     /* the input is malformed: refuse it */
    ERR_RANGE,   /* well formed, but over a limit */
    ERR_NOMEM,   /* no memory, or a bounded buffer is at its maximum */
    ERR_TIMEOUT, /* the deadline passed */
    ERR_STOP,    /* woken to stop or to look at something more important */
    ERR_EOF,     /* the peer closed in an orderly way */
    ERR_IO,      /* the system refused; errinfo.sys says why */
    ERR_TLS,     /* a TLS failure */
    ERR_NAME,    /* a name did not resolve */
    ERR_DENIED,  /* credentials or rights refused */
    ERR_BUSY,    /* taken by somebody else: try later */
    ERR_FULL,    /* no room: back-pressure */
    ERR_CONFIG   /* the operator must change something */
};

struct errinfo {
    enum err code;
    int sys;        /* errno, or 0 */
    char text[512]; /* a list of the options of a sink type fits */
};

/*
 * errinfo_set(info, code, format, ...):
 * Fill ${info} (which may be NULL) with ${code} and the formatted text, cut to fit.
 * Returns ${code}, so that a caller can write `return errinfo_set(...)`.
 */
enum err errinfo_set(struct errinfo *info, enum err code, const char *format, ...)
    PRINTF_LIKE(3, 4);

/*
 * errinfo_sys(info, code, sys, format, ...):
 * The same, with the errno value ${sys} kept and its text put behind: "cannot open x: No such
 * file".
 */
enum err errinfo_sys(struct errinfo *info, enum err code, int sys, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* err_name(code): the code's name in lower case, "ok", "again", ...; a static string. */
const char *err_name(enum err code);

#endif
