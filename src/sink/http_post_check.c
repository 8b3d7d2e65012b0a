/*
 * http_post_check.c: what is wrong with the definition of an HTTP sink, told when it is made.
 */
#include "sink/http_post_check.h"

#include "base/gzip.h"
#include "base/url.h"
#include "point/precision.h"
#include "sink/http_post.h"
#include "sink/http_verdict.h"
#include "sink/template.h"

static bool
is_token(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr("!#$%&'*+-.^_`|~", c) != NULL))
            return false;
    }
    return s.n > 0;
}

bool
http_post_is_field_value(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    }
    return true;
}

/* Headers that the client writes itself, or an option says. */
static bool
is_reserved(struct slice name)
{
    static const struct slice reserved[] = {
        SLICE_INIT("content-length"),   SLICE_INIT("transfer-encoding"), SLICE_INIT("connection"),
        SLICE_INIT("content-encoding"), SLICE_INIT("content-type"),      SLICE_INIT("expect"),
        SLICE_INIT("user-agent")};

    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (slice_eq_nocase(reserved[i], name))
            return true;
    }
    return false;
}

bool
http_post_next_header(struct slice *rest, struct slice *line)
{
    while (slice_split(rest, '\n', line)) {
        *line = slice_trim(*line);
        if (line->n > 0 && line->p[line->n - 1] == '\r')
            line->n--;
        if (line->n > 0)
            return true;
    }
    return false;
}

static enum err
check_headers(const struct sink_def *def, struct errinfo *info)
{
    struct slice rest = sink_def_text(def, "headers"), line;
    size_t count = 0;

    while (http_post_next_header(&rest, &line)) {
        size_t colon = slice_find(line, ':');

        if (colon == line.n || !is_token(slice_to(line, colon)) || !http_post_is_field_value(line))
            return errinfo_set(info, ERR_CONFIG,
                               "option headers takes lines like 'Name: value'; line %zu is none",
                               count + 1);
        if (is_reserved(slice_to(line, colon)))
            return errinfo_set(info, ERR_CONFIG, "option headers must not set %.*s", (int)colon,
                               (const char *)line.p);
        if (++count > HTTP_POST_HEADERS_MAX)
            return errinfo_set(info, ERR_CONFIG, "option headers takes at most %d lines",
                               HTTP_POST_HEADERS_MAX);
    }
    return ERR_OK;
}

/* What the points are sent in must be what the URL tells the server. */
static enum err
check_precision(const struct sink_def *def, const struct url *url, struct errinfo *info)
{
    struct slice rest = url->query, key, value;
    enum precision said = PRECISION_NS, sent = (enum precision)sink_def_number(def, "precision");

    while (url_query_next(&rest, &key, &value)) {
        if (!slice_eq(key, SLICE("precision")))
            continue;
        if (precision_parse(value, &said) != ERR_OK)
            return errinfo_set(info, ERR_CONFIG, "the URL's precision is none of ns, us, ms, s");
        break;
    }
    if (said != sent)
        return errinfo_set(
            info, ERR_CONFIG,
            "the URL says precision %s, the option precision says %s: make them agree",
            precision_name(said), precision_name(sent));
    return ERR_OK;
}

static enum err
check_target(const struct url *url, struct errinfo *info)
{
    struct template *t;
    struct slice text =
        slice_make(url->path.p, url->path.n + (url->has_query ? url->query.n + 1 : 0));
    enum err err;

    if (url->host_count != 1)
        return errinfo_set(info, ERR_CONFIG, "the URL of an HTTP sink has one host");
    if (url->path.n == 0)
        return errinfo_set(
            info, ERR_CONFIG,
            "the URL of an HTTP sink needs a path, like http://host:8086/write?db=mydb");
    err = template_open(&t, text, TEMPLATE_HTTP, info);
    if (err == ERR_OK)
        template_close(t);
    return err;
}

static bool
sets_authorization(const struct sink_def *def)
{
    struct slice rest = sink_def_text(def, "headers"), line;

    while (http_post_next_header(&rest, &line)) {
        if (slice_eq_nocase(slice_to(line, slice_find(line, ':')), SLICE("authorization")))
            return true;
    }
    return false;
}

static enum err
check_credentials(const struct sink_def *def, struct errinfo *info)
{
    bool basic = def->username != NULL || secret_is_set(&def->password) ||
                 sink_def_is_set(def, "password_file");
    bool bearer = sink_def_is_set(def, "bearer_token") || sink_def_is_set(def, "bearer_token_file");

    if (basic && def->username == NULL)
        return errinfo_set(info, ERR_CONFIG, "a password needs a USERNAME beside it");
    if (basic && strchr(def->username, ':') != NULL)
        return errinfo_set(info, ERR_CONFIG, "a USERNAME for HTTP must not hold a colon");
    if ((basic || bearer) && sets_authorization(def))
        return errinfo_set(info, ERR_CONFIG,
                           "option headers must not set Authorization beside USERNAME or a bearer "
                           "token");
    if (basic && bearer)
        return errinfo_set(info, ERR_CONFIG, "USERNAME and a bearer token exclude each other");
    if (sink_def_is_set(def, "bearer_token") && sink_def_is_set(def, "bearer_token_file"))
        return errinfo_set(info, ERR_CONFIG,
                           "bearer_token and bearer_token_file exclude each other");
    if (!http_post_is_field_value(sink_def_text(def, "bearer_token")) ||
        !http_post_is_field_value(sink_def_text(def, "user_agent")))
        return errinfo_set(info, ERR_CONFIG, "a header value must not hold control bytes");
    if (secret_is_set(&def->password) && sink_def_is_set(def, "password_file"))
        return errinfo_set(info, ERR_CONFIG, "PASSWORD and password_file exclude each other");
    return ERR_OK;
}

static size_t
count_credentials(const struct sink_def *def)
{
    if (def->username == NULL)
        return sink_def_is_set(def, "bearer_token") || sink_def_is_set(def, "bearer_token_file");
    return 2; /* the password, and what Basic makes of it */
}

enum err
http_post_check_secrets(const struct sink_def *def, const struct url *url, struct errinfo *info)
{
    struct slice headers = sink_def_text(def, "headers"), query = url->query, line, key, value;
    size_t count = count_credentials(def);

    while (http_post_next_header(&headers, &line))
        count += slice_trim(slice_from(line, slice_find(line, ':') + 1)).n > 0;
    while (url_query_next(&query, &key, &value))
        count += value.n > 0 && url_key_is_secret(key);
    if (count > HTTP_POST_SECRETS_MAX)
        return errinfo_set(
            info, ERR_CONFIG,
            "the URL's query, option headers and the credentials hold %zu secret "
            "values; an HTTP sink can keep at most %d out of what it shows: use fewer",
            count, HTTP_POST_SECRETS_MAX);
    return ERR_OK;
}

enum err
http_post_check(const struct sink_def *def, struct errinfo *info)
{
    struct http_success success;
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info);

    if (err == ERR_OK && url_scheme_is(&url, "https"))
        err = errinfo_set(info, ERR_CONFIG, "this build has no TLS: https cannot be used");
    if (err == ERR_OK)
        err = check_target(&url, info);
    if (err == ERR_OK)
        err = check_precision(def, &url, info);
    if (err == ERR_OK)
        err = check_headers(def, info);
    if (err == ERR_OK)
        err = check_credentials(def, info);
    if (err == ERR_OK)
        err = http_post_check_secrets(def, &url, info);
    if (err == ERR_OK && sink_def_bool(def, "gzip") && !gzip_available())
        err = errinfo_set(info, ERR_CONFIG, "this build has no zlib: gzip cannot be used");
    if (err == ERR_OK)
        err = http_verdict_parse(&success, sink_def_text(def, "success_status"), info);
    return err == ERR_OK || err == ERR_NOMEM ? err : ERR_CONFIG;
}
