/*
 * container.h: from a member back to the struct that holds it, for nodes that are handed around.
 */
#ifndef SINKD_BASE_CONTAINER_H
#define SINKD_BASE_CONTAINER_H

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
