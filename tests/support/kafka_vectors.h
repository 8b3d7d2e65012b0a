/*
 * kafka_vectors.h: the rows of tests/vectors/kafka, for the tests of src/kafka.
 */
#ifndef SINKD_SUPPORT_KAFKA_VECTORS_H
#define SINKD_SUPPORT_KAFKA_VECTORS_H

#include <stddef.h>

#include "base/buf.h"
#include "support/json_tree.h"

/* kafka_vectors_each(file, row): call ${row} with each object of that file; returns how many there
 * were. The test fails when it cannot be read. */
size_t kafka_vectors_each(const char *file, void (*row)(const struct json_node *object));

/* kafka_vectors_hex(out, text): append the bytes of a hexadecimal text (NULL: nothing). */
void kafka_vectors_hex(struct buf *out, const struct json_node *text);

#endif
