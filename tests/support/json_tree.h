/*
 * json_tree.h: a strict JSON reader for tests, as a tree: to read vectors, and to see that what the
 * daemon writes is valid. Source: RFC 8259. Refuses what lax readers let pass: control bytes and
 * invalid UTF-8 in strings, lone surrogates, a comma too many, numbers such as 01 or 1., bytes
 * behind the value.
 */
#ifndef SINKD_SUPPORT_JSON_TREE_H
#define SINKD_SUPPORT_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

enum json_node_type { TREE_NULL, TREE_BOOLEAN, TREE_NUMBER, TREE_STRING, TREE_ARRAY, TREE_OBJECT };

struct json_node {
    enum json_node_type type;
    struct slice key;        /* of an object's member, decoded */
    struct slice text;       /* of a string, decoded; of a number or boolean as it is written */
    struct json_node *first; /* of an array's or object's members, in order */
    struct json_node *next;  /* the next member of the same parent */
    size_t count;            /* of members */
    struct json_node *parent, *last, *made; /* private */
};

struct json_tree {
    struct json_node *root;
    struct json_node *made; /* private: all of them */
    uint8_t *strings;       /* private */
};

#define TREE_DEPTH_MAX 64

/* json_tree_parse(doc, text): read one value with blanks around it; json_tree_free(doc) gives all
 * back, also after an error. The text need not outlive the call. ERR_BAD, ERR_RANGE (nested too
 * deep), ERR_NOMEM. */
enum err json_tree_parse(struct json_tree *doc, struct slice text) MUST_USE;
void json_tree_free(struct json_tree *doc);

/* Steps that take and give NULL: json_tree_get(json_tree_at(json_tree_get(root, "a"), 0), "b"). Of
 * a repeated key the last one. json_tree_is(j, text): a string of these bytes. json_tree_null(j):
 * null or not there. */
const struct json_node *json_tree_get(const struct json_node *object, const char *key);
const struct json_node *json_tree_at(const struct json_node *array, size_t i);
bool json_tree_is(const struct json_node *j, const char *text);
bool json_tree_null(const struct json_node *j);
bool json_tree_true(const struct json_node *j);

/* The value of a number; 0 when it is none or does not fit. */
int64_t json_tree_i64(const struct json_node *j);
uint64_t json_tree_u64(const struct json_node *j);
double json_tree_f64(const struct json_node *j);

#endif
