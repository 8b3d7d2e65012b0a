/*
 * fuzz_point_json.c: any bytes as line protocol; each good point as JSON must be valid for a strict
 * reader and say what the line says.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "point/lineproto.h"
#include "support/point_forms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lineproto parser;
    struct lineproto_point point;
    struct lineproto_bad bad;
    enum lineproto_event event;
    struct buf line;

    buf_init(&line, size + 1);
    lineproto_init(&parser, slice_make(data, size), PRECISION_NS, 0);
    while ((event = lineproto_next(&parser, &point, &bad)) != LINEPROTO_END) {
        const char *wrong;

        if (event == LINEPROTO_BAD)
            continue;
        buf_clear(&line);
        if (buf_add(&line, point.key) != ERR_OK || buf_add_byte(&line, ' ') != ERR_OK ||
            buf_add(&line, point.fields) != ERR_OK)
            break;
        wrong = point_forms_json(buf_peek(&line), point.time_ns);
        if (wrong != NULL)
            (void)fprintf(stderr, "%s\n", wrong);
        assert(wrong == NULL);
    }
    buf_free(&line);
    assert(mem_live() == 0);
    return 0;
}
