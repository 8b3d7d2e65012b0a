/*
 * err.c: fills struct errinfo and names the error codes.
 * Not for: deciding or logging what a failure means.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Formats into a text of its own first: an argument may well be the text that is replaced. */
static void PRINTF_LIKE(4, 0)
    fill(struct errinfo *info, enum err code, int sys, const char *format, va_list args)
{
    char text[sizeof(info->text)];
    int n = vsnprintf(text, sizeof(text), format, args);

    if (n < 0)
        text[0] = '\0';
    if (n >= (int)sizeof(text)) {
        /* Cut before a whole UTF-8 sequence, not inside one. */
        size_t end = sizeof(text) - 1;
        while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
            end--;
        if (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0xc0)
            end--;
        text[end] = '\0';
    }
    info->code = code;
    info->sys = sys;
    memcpy(info->text, text, sizeof(text));
}

enum err
errinfo_set(struct errinfo *info, enum err code, const char *format, ...)
{
    va_list args;

    if (info == NULL)
        return code;
    va_start(args, format);
    fill(info, code, 0, format, args);
    va_end(args);
    return code;
}

enum err
errinfo_sys(struct errinfo *info, enum err code, int sys, const char *format, ...)
{
    char reason[96];
    va_list args;

    if (info == NULL)
        return code;
    va_start(args, format);
    fill(info, code, sys, format, args);
    va_end(args);
    if (strerror_r(sys, reason, sizeof(reason)) != 0)
        (void)snprintf(reason, sizeof(reason), "system error %d", sys);

    size_t used = strlen(info->text);
    (void)snprintf(info->text + used, sizeof(info->text) - used, ": %s", reason);
    return code;
}

const char *
err_name(enum err code)
{
    switch (code) {
    case ERR_OK:
        return "ok";
    case ERR_AGAIN:
        return "again";
    case ERR_SHORT:
        return "short";
    case ERR_BAD:
        return "bad";
    case ERR_RANGE:
        return "range";
    case ERR_NOMEM:
        return "nomem";
    case ERR_TIMEOUT:
        return "timeout";
    case ERR_STOP:
        return "stop";
    case ERR_EOF:
        return "eof";
    case ERR_IO:
        return "io";
    case ERR_TLS:
        return "tls";
    case ERR_NAME:
        return "name";
    case ERR_DENIED:
        return "denied";
    case ERR_BUSY:
        return "busy";
    case ERR_FULL:
        return "full";
    case ERR_CONFIG:
        return "config";
    }
    return "unknown";
}
