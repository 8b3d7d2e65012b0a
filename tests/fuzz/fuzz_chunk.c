/*
 * fuzz_chunk.c: any bytes as a chunk, as they are and with the checksum made right. What opens must
 * step through exactly its points, each within the value.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/wire.h"
#include "store/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int truth)
{
    if (!truth)
        abort();
}

static void
within(struct slice part, struct slice whole)
{
    must(part.p >= whole.p && part.n <= whole.n && part.p + part.n <= whole.p + whole.n);
}

static void
step_through(struct slice value)
{
    static struct chunk chunk, header;
    struct chunk_cursor cursor;
    struct chunk_point point;
    uint32_t count = 0;

    if (chunk_open(value, &chunk) != ERR_OK)
        return;
    must(chunk_header(value, &header) == ERR_OK);
    must(header.count == chunk.count && slice_eq(header.origin.db, chunk.origin.db));
    for (uint32_t i = 0; i < chunk.name_count; i++)
        within(chunk.names[i], value);
    for (chunk_first(&cursor, &chunk); chunk_next(&cursor, &point); count++) {
        within(point.line, value);
        must(point.line.n > 0 && point.name < chunk.name_count);
    }
    must(count == chunk.count && count > 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    must(copy != NULL);
    step_through(slice_make(data, size));
    memcpy(copy, data, size);
    if (size >= CHUNK_HEAD) {
        store_le32(copy + 8, (uint32_t)size);
        store_le32(copy + 4, crc32c(0, copy + 8, size - 8));
    }
    step_through(slice_make(copy, size));
    free(copy);
    return 0;
}
