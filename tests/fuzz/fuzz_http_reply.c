/*
 * fuzz_http_reply.c: any bytes as the answers on one connection. The first byte says how they are
 * cut, the second whether they answer HEADs: what comes of them is the same however they come, and
 * never more than the bounds. Error texts made of them are short and printable, Retry-After is
 * never negative but -1.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "http/http_reply.h"
#include "http/http_snippet.h"

#define KEEP 64
#define DRAIN 256
#define ANSWERS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    size_t answers;
    enum err end;
    int status[ANSWERS];
    uint32_t sum[ANSWERS];
    bool cut[ANSWERS];
};

static void
note(struct seen *s, const struct http_reply *r)
{
    char text[HTTP_SNIPPET_TEXT];
    size_t i;

    assert(r->status >= 200 && r->status < 600);
    assert(r->body.n <= KEEP);
    assert(r->retry_after_ms >= -1);
    (void)http_snippet_make(text, r->body);
    assert(strlen(text) < sizeof(text));
    for (i = 0; text[i] != '\0'; i++)
        assert((uint8_t)text[i] >= ' ' && text[i] != 0x7f);
    s->status[s->answers] = r->status;
    s->cut[s->answers] = r->cut;
    for (i = 0; i < r->body.n; i++)
        s->sum[s->answers] = s->sum[s->answers] * 31 + r->body.p[i];
}

static void
read_all(struct seen *s, struct slice all, size_t step, bool to_head)
{
    struct http_reply_reader reader;
    struct http_reply reply;
    struct slice piece;
    struct buf in;
    const char *why = NULL;

    memset(s, 0, sizeof(*s));
    s->end = ERR_SHORT;
    buf_init(&in, all.n + 1);
    http_reply_init(&reader, KEEP, DRAIN);
    while (s->end == ERR_SHORT && s->answers < ANSWERS) {
        s->end = http_reply_take(&reader, &in, to_head, &why);
        if (s->end == ERR_OK) {
            http_reply_show(&reader, &reply, 0);
            note(s, &reply);
            s->answers++;
            /* how much of an overlong body was dropped depends on the cut: nothing can follow */
            s->end = http_reply_keeps_open(&reader) ? ERR_SHORT : ERR_OK;
        } else if (s->end == ERR_SHORT) {
            if (all.n == 0)
                break;
            piece = slice_to(all, step);
            if (buf_add(&in, piece) != ERR_OK)
                break;
            all = slice_from(all, step);
        } else {
            assert(s->end == ERR_NOMEM || why != NULL);
        }
    }
    if (s->end == ERR_SHORT)
        s->end = http_reply_end(&reader);
    http_reply_free(&reader);
    buf_free(&in);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct seen whole, cut;

    if (size < 2 || size > 8192) /* a head that is too long depends on what came behind it */
        return 0;
    read_all(&whole, slice_make(data + 2, size - 2), size, (data[1] & 1) != 0);
    read_all(&cut, slice_make(data + 2, size - 2), (size_t)data[0] + 1, (data[1] & 1) != 0);
    assert(memcmp(whole.status, cut.status, sizeof(cut.status)) == 0);
    assert(memcmp(whole.sum, cut.sum, sizeof(cut.sum)) == 0);
    assert(memcmp(whole.cut, cut.cut, sizeof(cut.cut)) == 0);
    assert(whole.answers == cut.answers && whole.end == cut.end);
    return 0;
}
