/*
 * url.h: URLs taken apart and shown without their secrets.
 *
 * Structure only (RFC 3986, and the host lists of message brokers): no name is looked up, no
 * default port filled in, nothing decoded. Which schemes a sink type takes is its own business.
 */
#ifndef SINKD_BASE_URL_H
#define SINKD_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define URL_HOSTS_MAX 32  /* hosts of one list: a cluster's bootstrap servers */
#define URL_TEXT_MAX 8192 /* bytes of a whole URL: what HTTP servers take in a request line */
#define URL_HOST_MAX 255  /* bytes of one host: the longest DNS name */

struct url_host {
    struct slice host; /* a name or an address; an IPv6 address without its brackets */
    uint16_t port;     /* 0: none was given */
    bool ipv6;         /* it stood in brackets */
};

/* All slices point into the parsed text and are still percent-encoded. */
struct url {
    struct slice scheme; /* as written; compare without case */
    bool has_user, has_password;
    struct slice user, password;
    struct url_host hosts[URL_HOSTS_MAX];
    size_t host_count; /* 1 or more */
    struct slice path; /* with its leading '/'; empty when there is none */
    bool has_query;
    struct slice query; /* without the '?' */
};

/*
 * url_parse(text, url, info):
 * Take apart scheme://[user[:password]@]host[:port][,host[:port]...][/path][?query].
 * A fragment, blanks, control bytes, bytes above 0x7e and broken percent-encoding are refused;
 * braces and bars may stand in path and query (templates). So is an '@' behind the hosts: it may be
 * the end of a password with an unencoded '/' or '?' in it, which would then pass for a path.
 * Errors: ERR_BAD, ERR_RANGE (longer than the limits above). ${info} (may be NULL) says what is
 *         wrong without quoting any part of the text: it may hold secrets.
 */
enum err url_parse(struct slice text, struct url *url, struct errinfo *info) MUST_USE;

/* url_scheme_is(url, scheme): whether it is ${scheme} (lower case), in any case. */
bool url_scheme_is(const struct url *url, const char *scheme);

/*
 * url_mask(out, text):
 * Append ${text} as it may be shown: user info left out, values of credential-like query keys as
 * "****", all else as written. A text that url_parse refuses is shown as "****" alone. ERR_NOMEM.
 */
enum err url_mask(struct buf *out, struct slice text) MUST_USE;

/* What becomes of credential-like query keys. */
enum url_secrets {
    URL_SECRETS_SHOWN,
    URL_SECRETS_MASKED,  /* their values are "****" */
    URL_SECRETS_OMITTED, /* key and value are left out: a URL that can be used, but without them */
};

/* url_write(out, url, secrets): append ${url} put together again; always without user info.
 * ERR_NOMEM. */
enum err url_write(struct buf *out, const struct url *url, enum url_secrets secrets) MUST_USE;

/* url_has_secret(url): whether url_mask would hide something: user info or a query value. */
bool url_has_secret(const struct url *url);

/* url_key_is_secret(key): whether a query key (or form or option name) names a credential: u, p,
 * user, username, pass, password, token, api_key, secret, auth, ... in any case, '-' as '_'. */
bool url_key_is_secret(struct slice key);

/* url_query_next(rest, key, value): the next key=value of a query, still encoded; false: none. */
bool url_query_next(struct slice *rest, struct slice *key, struct slice *value);

#endif
