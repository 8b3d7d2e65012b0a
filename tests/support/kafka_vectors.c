/*
 * kafka_vectors.c: see kafka_vectors.h.
 */
#include "support/kafka_vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/num.h"

#define FILE_MAX (4 * 1024 * 1024)

static void
read_file(const char *name, struct buf *out)
{
    const char *root = getenv("SINKD_SRCDIR");
    char path[512];
    FILE *file;
    size_t got;

    (void)snprintf(path, sizeof(path), "%s/tests/vectors/kafka/%s", root == NULL ? "." : root,
                   name);
    file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened: set SINKD_SRCDIR", path);
    do {
        uint8_t *p = buf_reserve(out, 65536);

        assert_non_null(p);
        got = fread(p, 1, 65536, file);
        buf_commit(out, got);
    } while (got > 0);
    (void)fclose(file);
}

size_t
kafka_vectors_each(const char *file, void (*row)(const struct json_node *object))
{
    struct slice rest, line;
    struct buf text;
    size_t count = 0;

    buf_init(&text, FILE_MAX);
    read_file(file, &text);
    rest = buf_peek(&text);
    for (; slice_split(&rest, '\n', &line); count++) {
        struct json_tree doc;

        assert_int_equal(json_tree_parse(&doc, line), ERR_OK);
        row(doc.root);
        json_tree_free(&doc);
    }
    buf_free(&text);
    return count;
}

void
kafka_vectors_hex(struct buf *out, const struct json_node *text)
{
    for (size_t i = 0; text != NULL && i + 1 < text->text.n; i += 2) {
        uint64_t byte;

        assert_int_equal(num_hex(slice_make(text->text.p + i, 2), &byte), ERR_OK);
        assert_int_equal(buf_add_byte(out, (uint8_t)byte), ERR_OK);
    }
}
