/*
 * fuzz_json.c: any bytes as JSON. What is taken can be walked to its end, in pieces that are JSON
 * themselves, and its strings decode to UTF-8.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_string(struct slice raw)
{
    struct buf text;

    buf_init(&text, 3 * raw.n + 1);
    assert(json_text(&text, raw) == ERR_OK);
    assert(text_is_utf8(buf_peek(&text)));
    buf_free(&text);
}

static void
check_element(struct slice key, const struct json *v)
{
    struct json again, found;

    assert(json_parse(v->raw, &again) == ERR_OK);
    assert(again.type == v->type && slice_eq(again.raw, v->raw));
    (void)json_get(v, "a", &found);
    if (key.n > 0)
        check_string(key);
    if (v->type == JSON_STRING)
        check_string(v->raw);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_walk outer, inner;
    struct json root, v, w;
    struct slice key;
    size_t live = mem_live();

    if (json_parse(slice_make(data, size), &root) != ERR_OK)
        return 0;
    check_element(slice_make(NULL, 0), &root);
    json_walk(&outer, &root);
    while (json_next(&outer, &key, &v)) {
        check_element(key, &v);
        json_walk(&inner, &v);
        while (json_next(&inner, &key, &w))
            check_element(key, &w);
    }
    assert(outer.rest.n == 0);
    assert(mem_live() == live);
    return 0;
}
