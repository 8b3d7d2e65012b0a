/*
 * fuzz_http_response.c: any bytes as what a server answers: heads and bodies one after another. The
 * first byte says how they are cut: the events are the same however they come, every slice lies
 * within the input, and what a field walk finds is found by name.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/h1_body.h"
#include "http/h1_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a message came to: where its head and body ended, and a sum of its content. */
struct seen {
    size_t messages, consumed, content;
    uint32_t sum;
    int end; /* why it stopped */
};

static void
check_fields(const struct h1_head *head)
{
    struct slice rest = head->fields, name, value, found;

    while (h1_parse_next(&rest, &name, &value)) {
        assert(h1_parse_is_token(name));
        assert(h1_parse_field(head, name, &found));
        assert(value.n == 0 || (value.p[0] != ' ' && value.p[value.n - 1] != ' '));
    }
}

/* visible(all, step, n): the first n bytes, rounded up to the cut. */
static struct slice
visible(struct slice all, size_t step, size_t n)
{
    n = step == 0 ? all.n : (n / step + 1) * step;
    return slice_to(all, n);
}

/* read_head(all, at, step, head): a head at ${at}, seen in growing pieces; its length, or 0. */
static size_t
read_head(struct slice all, size_t at, size_t step, struct h1_head *head, int *why)
{
    struct h1_scan scan = {0};
    struct h1_fault fault = {0, "", false};
    struct slice in;
    size_t shown = at, length = 0;
    enum err err = ERR_SHORT;

    while (err == ERR_SHORT) {
        in = visible(all, step, shown);
        err = h1_parse_find(&scan, slice_from(in, at), &length, &fault);
        if (err == ERR_SHORT && in.n == all.n)
            break;
        shown = in.n;
    }
    if (err == ERR_OK) {
        in = slice_to(slice_from(all, at), length);
        err = h1_parse_response(in, all.n % 2 == 1, head, &fault);
    }
    *why = (int)err;
    assert(err == ERR_OK || err == ERR_SHORT || (fault.status >= 400 && fault.text[0] != '\0'));
    return err == ERR_OK ? length : 0;
}

/* read_body(all, at, step, head, seen): true when another message may follow. */
static bool
read_body(struct slice all, size_t *at, size_t step, const struct h1_head *head, struct seen *seen)
{
    struct h1_body body;
    struct slice in, data;
    size_t used, i;
    enum err err;

    h1_body_init(&body, head->framing, head->length);
    for (;;) {
        in = slice_from(visible(all, step, *at), *at);
        err = h1_body_next(&body, in, &used, &data);
        assert(used <= in.n && (err != ERR_OK || data.n > 0));
        *at += used;
        for (i = 0; i < data.n; i++)
            seen->sum = seen->sum * 31 + data.p[i];
        seen->content += data.n;
        if (err == ERR_EOF || err == ERR_BAD || (err == ERR_SHORT && *at >= all.n))
            break;
    }
    seen->end = (int)err;
    assert(err != ERR_BAD || body.why != NULL);
    return err == ERR_EOF && head->keep_alive;
}

static struct seen
read_all(struct slice all, size_t step)
{
    struct seen seen = {0};
    struct h1_head head;
    size_t at = 0, length;

    while ((length = read_head(all, at, step, &head, &seen.end)) > 0) {
        check_fields(&head);
        seen.messages++;
        at += length;
        if (!read_body(all, &at, step, &head, &seen))
            break;
    }
    seen.consumed = seen.end == ERR_BAD ? 0 : at;
    return seen;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole, cut;

    if (size == 0)
        return 0;
    whole = read_all(slice_make(data + 1, size - 1), 0);
    cut = read_all(slice_make(data + 1, size - 1), (size_t)data[0] % 64 + 1);
    assert(whole.messages == cut.messages && whole.consumed == cut.consumed);
    assert(whole.content == cut.content && whole.sum == cut.sum && whole.end == cut.end);
    return 0;
}
