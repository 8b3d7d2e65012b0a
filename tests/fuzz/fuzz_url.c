/*
 * fuzz_url.c: any text as a URL.
 *
 * What parses is written back to a URL of the same parts, without user info. The masked form is a
 * URL or "****", stays the same when masked again and hides a password set around the input.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/url.h"

#define CANARY "q7CANARYq7"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_url: %s\n", what);
    abort();
}

static bool
holds_canary(struct slice s)
{
    struct slice canary = SLICE(CANARY);

    for (size_t i = 0; i + canary.n <= s.n; i++)
        if (slice_starts(slice_from(s, i), canary))
            return true;
    return false;
}

static void
check_text(struct slice text, bool canary)
{
    struct buf masked, again;
    struct url url;

    buf_init(&masked, 4 * URL_TEXT_MAX);
    buf_init(&again, 4 * URL_TEXT_MAX);
    must(url_mask(&masked, text) == ERR_OK, "no masked form");
    if (canary)
        must(!holds_canary(buf_peek(&masked)), "the masked form shows a secret");
    must(url_mask(&again, buf_peek(&masked)) == ERR_OK &&
             (slice_eq(buf_peek(&masked), buf_peek(&again)) || buf_len(&masked) > URL_TEXT_MAX),
         "the masked form changes when masked again");
    if (url_parse(text, &url, NULL) == ERR_OK) {
        struct url back;

        buf_clear(&again);
        must(url_write(&again, &url, URL_SECRETS_SHOWN) == ERR_OK, "not written back");
        must(url_parse(buf_peek(&again), &back, NULL) == ERR_OK, "what was written does not parse");
        must(back.host_count == url.host_count && slice_eq(back.path, url.path) &&
                 slice_eq(back.query, url.query) && !back.has_user,
             "what was written is another URL");
        buf_clear(&again);
        must(url_write(&again, &url, URL_SECRETS_OMITTED) == ERR_OK, "not written without secrets");
        must(url_parse(buf_peek(&again), &back, NULL) == ERR_OK,
             "without secrets it does not parse");
        must(!url_has_secret(&back), "a secret is left");
        if (canary)
            must(!holds_canary(buf_peek(&again)), "the form without secrets shows one");
    }
    buf_free(&masked);
    buf_free(&again);
}

static void
check_around(const char *before, struct slice middle, const char *behind)
{
    struct buf text;

    buf_init(&text, 8 << 20);
    must(buf_add_text(&text, before) == ERR_OK && buf_add(&text, middle) == ERR_OK &&
             buf_add_text(&text, behind) == ERR_OK,
         "no room");
    check_text(buf_peek(&text), true);
    buf_free(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice input = slice_make(data, size);

    check_text(input, false);
    if (holds_canary(input))
        return 0; /* it may stand where nothing is secret */
    check_around("http://u:", input, CANARY "@h/x");
    check_around("http://u:" CANARY, input, "@h/x");
    if (slice_find(input, '&') == size)
        check_around("http://h/x?db=a&p=" CANARY, input, "&y=1");
    must(mem_live() == 0, "memory is left over");
    return 0;
}
