/*
 * fuzz_toml.c: any bytes as a configuration file. The reader must end, never go back a line, find
 * at most one item a line, and give only text that a configuration may hold.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "daemon/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_value(const struct toml_value *v)
{
    struct slice rest = v->text, one;
    size_t count = 0;

    if (v->type == TOML_STRING)
        assert(slice_find(v->text, 0) == v->text.n && text_is_utf8(v->text));
    if (v->type != TOML_STRINGS)
        return;
    while (slice_split(&rest, 0, &one)) {
        assert(text_is_utf8(one));
        count++;
    }
    assert(count == v->count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toml_reader r;
    struct toml_item item = {.kind = TOML_ERROR};
    unsigned last = 0;
    size_t live = mem_live();

    toml_init(&r, slice_make(data, size));
    while (toml_next(&r, &item) == ERR_OK && item.kind != TOML_END) {
        assert(item.line > last);
        last = item.line;
        assert(item.name.n <= TOML_NAME_MAX);
        if (item.kind == TOML_ERROR)
            assert(memchr(item.error, '\0', sizeof(item.error)) != NULL && item.error[0] != '\0');
        if (item.kind == TOML_KEY)
            check_value(&item.value);
    }
    assert(item.kind == TOML_END && r.rest.n == 0);
    toml_free(&r);
    assert(mem_live() == live);
    return 0;
}
