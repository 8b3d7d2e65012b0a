/*
 * attr.h: the few compiler attributes we use, and nothing where a compiler lacks them.
 * Not for: anything that changes what a program does.
 */
#ifndef SINKD_BASE_ATTR_H
#define SINKD_BASE_ATTR_H

#if defined(__GNUC__) || defined(__clang__)
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define NORETURN __attribute__((noreturn))
#else
#define MUST_USE
#define PRINTF_LIKE(text, first)
#define NORETURN
#endif

#endif
