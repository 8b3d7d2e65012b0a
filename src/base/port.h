/*
 * port.h: the few calls beyond C99 and POSIX.1-2008, each with what is done where it is missing.
 * The only file that may ask for GNU or BSD extensions is port.c.
 */
#ifndef SINKD_BASE_PORT_H
#define SINKD_BASE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* port_random(p, n): unpredictable bytes (getrandom where there is one, else /dev/urandom).
 * ERR_IO. */
enum err port_random(void *p, size_t n) MUST_USE;

/* port_is_network_fs(dir): true when ${dir} lies on a file system known not to map files shared
 * (NFS, SMB, 9p, JFFS2); false when it does not or cannot be told. ${name} gets its name. */
bool port_is_network_fs(const char *dir, const char **name);

/* port_no_core_dumps(): a killed process leaves no memory image behind. */
void port_no_core_dumps(void);

/* port_tcp_user_timeout(fd, ms), port_quick_ack(fd): Linux's socket options; elsewhere nothing. */
void port_tcp_user_timeout(int fd, unsigned ms);
void port_quick_ack(int fd);

/* port_set_groups_none(): drop the supplementary groups (before setuid). ERR_IO. */
enum err port_set_groups_none(void) MUST_USE;

#endif
