/*
 * url.c: URLs taken apart, put together and masked. See url.h.
 *
 * No message quotes the text: a URL that does not parse may hold a password anywhere.
 */
#include "base/url.h"

#include "base/num.h"
#include "base/secret.h"

static bool
is_alpha(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* The value of a hex digit, or -1. */
static int
hex_value(uint8_t c)
{
    if (is_digit(c))
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986 section 2: what may not stand in a URL at all. Braces and '|' belong to templates. */
static bool
is_forbidden(uint8_t c)
{
    return c <= 0x20 || c > 0x7e || strchr("\"<>\\^`#", c) != NULL;
}

static enum err
check_bytes(struct slice s, struct errinfo *info)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '#')
            return errinfo_set(info, ERR_BAD, "URL: a '#' must be written %%23");
        if (is_forbidden(s.p[i]))
            return errinfo_set(info, ERR_BAD, "URL: byte %zu must be percent-encoded", i + 1);
        if (s.p[i] == '%' &&
            (s.n - i < 3 || hex_value(s.p[i + 1]) < 0 || hex_value(s.p[i + 2]) < 0))
            return errinfo_set(info, ERR_BAD, "URL: the '%%' at byte %zu needs two hex digits",
                               i + 1);
    }
    return ERR_OK;
}

/* Cut "scheme://" off ${rest}. RFC 3986 section 3.1. */
static enum err
parse_scheme(struct slice *rest, struct url *url, struct errinfo *info)
{
    size_t colon = slice_find(*rest, ':');
    struct slice scheme = slice_to(*rest, colon);

    if (!slice_starts(slice_from(*rest, colon), SLICE("://")) || scheme.n == 0 ||
        !is_alpha(scheme.p[0]))
        return errinfo_set(info, ERR_BAD, "URL: must start with a scheme and \"://\"");
    for (size_t i = 0; i < scheme.n; i++) {
        uint8_t c = scheme.p[i];

        if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '-' && c != '.')
            return errinfo_set(info, ERR_BAD, "URL: must start with a scheme and \"://\"");
    }
    url->scheme = scheme;
    *rest = slice_from(*rest, colon + 3);
    return ERR_OK;
}

/* Cut "user:password@" off ${authority}; the last '@' counts: no part of a password may be left. */
static void
parse_user_info(struct slice *authority, struct url *url)
{
    size_t at = authority->n;
    struct slice user_info;

    while (at > 0 && authority->p[at - 1] != '@')
        at--;
    if (at == 0)
        return;
    user_info = slice_to(*authority, at - 1);
    *authority = slice_from(*authority, at);
    url->has_user = true;
    url->user = slice_to(user_info, slice_find(user_info, ':'));
    url->has_password = url->user.n < user_info.n;
    url->password = slice_from(user_info, url->user.n + 1);
}

static bool
is_host_byte(uint8_t c, bool ipv6)
{
    if (is_alpha(c) || is_digit(c) || c == '.' || c == '-' || c == '_')
        return true;
    return ipv6 && (c == ':' || c == '%'); /* '%' before a zone: RFC 6874 */
}

static enum err
check_host(const struct url_host *host, struct errinfo *info)
{
    size_t colons = 0;

    if (host->host.n == 0)
        return errinfo_set(info, ERR_BAD, "URL: a host is missing");
    if (host->host.n > URL_HOST_MAX)
        return errinfo_set(info, ERR_RANGE, "URL: a host has more than %d bytes", URL_HOST_MAX);
    for (size_t i = 0; i < host->host.n; i++) {
        if (!is_host_byte(host->host.p[i], host->ipv6))
            return errinfo_set(info, ERR_BAD,
                               "URL: a host may hold letters, digits, '.', '-' and "
                               "'_'; an IPv6 address stands in brackets");
        colons += host->host.p[i] == ':';
    }
    if (host->ipv6 && colons < 2)
        return errinfo_set(info, ERR_BAD, "URL: no IPv6 address between the brackets");
    return ERR_OK;
}

/* host, host:port or [address]:port. */
static enum err
parse_host(struct slice s, struct url_host *host, struct errinfo *info)
{
    struct slice port;
    uint64_t number = 0;

    *host = (struct url_host){0};
    if (s.n > 0 && s.p[0] == '[') {
        size_t end = slice_find(s, ']');

        if (end == s.n)
            return errinfo_set(info, ERR_BAD, "URL: a ']' is missing");
        host->ipv6 = true;
        host->host = slice_make(s.p + 1, end - 1);
        port = slice_from(s, end + 1);
    } else {
        host->host = slice_to(s, slice_find(s, ':'));
        port = slice_from(s, host->host.n);
    }
    if (port.n > 0) {
        if (port.p[0] != ':' || num_u64_max(slice_from(port, 1), UINT16_MAX, &number) != ERR_OK ||
            number == 0)
            return errinfo_set(info, ERR_BAD, "URL: a port must be a number from 1 to 65535");
        host->port = (uint16_t)number;
    }
    return check_host(host, info);
}

static enum err
parse_hosts(struct slice list, struct url *url, struct errinfo *info)
{
    for (;;) {
        size_t comma = slice_find(list, ',');
        enum err err;

        if (url->host_count == URL_HOSTS_MAX)
            return errinfo_set(info, ERR_RANGE, "URL: more than %d hosts", URL_HOSTS_MAX);
        err = parse_host(slice_to(list, comma), &url->hosts[url->host_count], info);
        if (err != ERR_OK)
            return err;
        url->host_count++;
        if (comma == list.n)
            return ERR_OK;
        list = slice_from(list, comma + 1);
    }
}

static enum err
parse_parts(struct slice rest, struct url *url, struct errinfo *info)
{
    struct slice authority;
    size_t end = 0;
    enum err err;

    if ((err = check_bytes(rest, info)) != ERR_OK ||
        (err = parse_scheme(&rest, url, info)) != ERR_OK)
        return err;
    while (end < rest.n && rest.p[end] != '/' && rest.p[end] != '?')
        end++;
    authority = slice_to(rest, end);
    rest = slice_from(rest, end);
    if (slice_find(rest, '@') < rest.n)
        return errinfo_set(info, ERR_BAD,
                           "URL: an '@' behind the host must be written %%40, and "
                           "in a password a '/' %%2F and a '?' %%3F");
    parse_user_info(&authority, url);
    if ((err = parse_hosts(authority, url, info)) != ERR_OK)
        return err;
    url->path = slice_to(rest, slice_find(rest, '?'));
    url->has_query = url->path.n < rest.n;
    url->query = slice_from(rest, url->path.n + 1);
    return ERR_OK;
}

enum err
url_parse(struct slice text, struct url *url, struct errinfo *info)
{
    struct url found = {0};
    enum err err;

    if (text.n > URL_TEXT_MAX)
        return errinfo_set(info, ERR_RANGE, "URL: more than %d bytes", URL_TEXT_MAX);
    err = parse_parts(text, &found, info);
    if (err == ERR_OK)
        *url = found;
    return err;
}

bool
url_scheme_is(const struct url *url, const char *scheme)
{
    return slice_eq_nocase(url->scheme, slice_of(scheme));
}

/* Longer keys than this are compared by their start alone; no known one comes near. */
#define KEY_MAX 64

/* The key without percent-encoding, in lower case, '-' and '.' as '_'. Returns its length. */
static size_t
fold_key(struct slice key, uint8_t folded[KEY_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < key.n && n < KEY_MAX; i++) {
        uint8_t c = key.p[i];

        if (c == '%' && key.n - i >= 3 && hex_value(key.p[i + 1]) >= 0 &&
            hex_value(key.p[i + 2]) >= 0) {
            c = (uint8_t)(hex_value(key.p[i + 1]) * 16 + hex_value(key.p[i + 2]));
            i += 2;
        }
        folded[n++] = c == '-' || c == '.' ? '_' : lower(c);
    }
    return n;
}

static bool
contains(struct slice s, struct slice part)
{
    for (size_t i = 0; i + part.n <= s.n; i++)
        if (slice_starts(slice_from(s, i), part))
            return true;
    return false;
}

bool
url_key_is_secret(struct slice key)
{
    static const struct slice whole[] = {
        SLICE_INIT("u"),     SLICE_INIT("p"),   SLICE_INIT("user"), SLICE_INIT("username"),
        SLICE_INIT("login"), SLICE_INIT("pw"),  SLICE_INIT("key"),  SLICE_INIT("sig"),
        SLICE_INIT("code"),  SLICE_INIT("jwt"), SLICE_INIT("sas"),  SLICE_INIT("session"),
    };
    static const struct slice parts[] = {
        SLICE_INIT("pass"),    SLICE_INIT("pwd"),        SLICE_INIT("token"),
        SLICE_INIT("secret"),  SLICE_INIT("auth"),       SLICE_INIT("apikey"),
        SLICE_INIT("api_key"), SLICE_INIT("access_key"), SLICE_INIT("accesskey"),
        SLICE_INIT("private"), SLICE_INIT("credential"), SLICE_INIT("signature"),
        SLICE_INIT("bearer"),
    };
    uint8_t folded[KEY_MAX];
    struct slice name = slice_make(folded, fold_key(key, folded));

    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (slice_eq(name, whole[i]))
            return true;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (contains(name, parts[i]))
            return true;
    return false;
}

bool
url_query_next(struct slice *rest, struct slice *key, struct slice *value)
{
    struct slice pair;

    if (!slice_split(rest, '&', &pair))
        return false;
    *key = slice_to(pair, slice_find(pair, '='));
    *value = slice_from(pair, key->n + 1);
    return true;
}

/*
 * Where the secret in a key=value pair starts, or its length: behind the '=' of a secret key. Some
 * servers take ';' for '&', so a key behind a ';' counts too; from there on all of it is secret.
 * ${key}: where its key starts, or the length.
 */
static size_t
secret_start(struct slice pair, size_t *key)
{
    size_t at = 0;

    *key = pair.n;

    while (at < pair.n) {
        struct slice part = slice_from(pair, at);
        size_t end = slice_find(part, ';');
        size_t equals = slice_find(slice_to(part, end), '=');

        if (equals < end && url_key_is_secret(slice_to(part, equals))) {
            *key = at;
            return at + equals + 1;
        }
        at += end + 1;
    }
    return pair.n;
}

static enum err
write_masked_query(struct buf *out, struct slice query)
{
    for (;;) {
        size_t end = slice_find(query, '&');
        struct slice pair = slice_to(query, end);
        size_t key, secret = secret_start(pair, &key);
        enum err err = buf_add(out, slice_to(pair, secret));

        if (err == ERR_OK && secret < pair.n)
            err = buf_add(out, SLICE(SECRET_MASK));
        if (err != ERR_OK || end == query.n)
            return err;
        if ((err = buf_add_byte(out, '&')) != ERR_OK)
            return err;
        query = slice_from(query, end + 1);
    }
}

/* With the '?' in front, unless nothing is left to stand behind it. */
static enum err
write_open_query(struct buf *out, struct slice query)
{
    enum err err = ERR_OK;
    uint8_t joint = '?';

    for (bool last = false; err == ERR_OK && !last;) {
        size_t end = slice_find(query, '&'), key;
        struct slice pair = slice_to(query, end);

        last = end == query.n;
        query = slice_from(query, end + 1);
        if (secret_start(pair, &key) < pair.n) {
            if (key == 0)
                continue;
            pair.n = key - 1; /* what stands before the ';' */
        }
        err = buf_add_byte(out, joint);
        if (err == ERR_OK)
            err = buf_add(out, pair);
        joint = '&';
    }
    return err;
}

static enum err
write_query(struct buf *out, struct slice query, enum url_secrets secrets)
{
    enum err err;

    if (secrets == URL_SECRETS_OMITTED)
        return write_open_query(out, query);
    err = buf_add_byte(out, '?');
    if (err != ERR_OK)
        return err;
    return secrets == URL_SECRETS_MASKED ? write_masked_query(out, query) : buf_add(out, query);
}

static enum err
write_hosts(struct buf *out, const struct url *url)
{
    enum err err = ERR_OK;

    for (size_t i = 0; err == ERR_OK && i < url->host_count; i++) {
        const struct url_host *host = &url->hosts[i];

        if (i > 0)
            err = buf_add_byte(out, ',');
        if (err == ERR_OK && host->ipv6)
            err = buf_add_byte(out, '[');
        if (err == ERR_OK)
            err = buf_add(out, host->host);
        if (err == ERR_OK && host->ipv6)
            err = buf_add_byte(out, ']');
        if (err == ERR_OK && host->port != 0)
            err = buf_printf(out, ":%u", (unsigned)host->port);
    }
    return err;
}

enum err
url_write(struct buf *out, const struct url *url, enum url_secrets secrets)
{
    size_t before = buf_len(out);
    enum err err = buf_add(out, url->scheme);

    if (err == ERR_OK)
        err = buf_add(out, SLICE("://"));
    if (err == ERR_OK)
        err = write_hosts(out, url);
    if (err == ERR_OK)
        err = buf_add(out, url->path);
    if (err == ERR_OK && url->has_query)
        err = write_query(out, url->query, secrets);
    if (err != ERR_OK)
        buf_cut(out, before);
    return err;
}

enum err
url_mask(struct buf *out, struct slice text)
{
    struct url url;

    if (url_parse(text, &url, NULL) != ERR_OK)
        return buf_add(out, SLICE(SECRET_MASK));
    return url_write(out, &url, URL_SECRETS_MASKED);
}

bool
url_has_secret(const struct url *url)
{
    struct slice rest = url->query, pair;
    size_t key;

    if (url->has_user)
        return true;
    while (slice_split(&rest, '&', &pair))
        if (secret_start(pair, &key) < pair.n)
            return true;
    return false;
}
