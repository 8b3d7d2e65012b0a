/*
 * cli_server.c: from options and environment to a host, a port and a password.
 */
#include "cli/cli_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "cli/cli_password.h"

static enum err
put_url(struct cli_server *s, struct errinfo *info)
{
    enum err err = ERR_OK;

    if (s->url == NULL)
        s->url = getenv("SINKD_URL");
    if (s->url == NULL || s->url[0] == '\0')
        s->url = CLI_SERVER_URL;
    buf_init(&s->text, URL_TEXT_MAX + 16);
    if (strstr(s->url, "://") == NULL)
        err = buf_add_text(&s->text, "http://");
    if (err == ERR_OK)
        err = buf_add_text(&s->text, s->url);
    return err == ERR_OK ? ERR_OK : errinfo_set(info, ERR_CONFIG, "the URL is too long");
}

static enum err
take_apart(struct cli_server *s, struct errinfo *info)
{
    struct url url;

    if (url_parse(buf_peek(&s->text), &url, info) != ERR_OK) {
        info->code = ERR_CONFIG;
        return ERR_CONFIG;
    }
    s->tls = url_scheme_is(&url, "https");
    if (!s->tls && !url_scheme_is(&url, "http"))
        return errinfo_set(info, ERR_CONFIG, "the URL must begin with http:// or https://");
    if (url.has_user || url.has_password)
        return errinfo_set(info, ERR_CONFIG,
                           "the URL must not hold a user or password: use -u and SINKD_PASSWORD");
    if (url.has_query || url.host_count > 1)
        return errinfo_set(info, ERR_CONFIG, "the URL must name one host and have no query");
    if (s->tls)
        return errinfo_set(info, ERR_CONFIG, "this build of sinkd has no TLS yet: use http://");
    if (s->cacert != NULL || s->insecure)
        return errinfo_set(info, ERR_CONFIG, "--cacert and --insecure are for https:// only");
    s->host = url.hosts[0].host;
    s->port = url.hosts[0].port;
    if (s->port == 0)
        s->port = s->tls ? 443 : 80;
    s->path = url.path;
    while (slice_ends(s->path, SLICE("/")))
        s->path.n--;
    return ERR_OK;
}

enum err
cli_server_resolve(struct cli_server *s, struct errinfo *info)
{
    enum err err = put_url(s, info);

    if (err == ERR_OK)
        err = take_apart(s, info);
    if (err != ERR_OK)
        return err;
    if (s->user == NULL)
        s->user = getenv("SINKD_USER");
    if (s->user != NULL && s->user[0] == '\0')
        s->user = NULL;
    if (s->user == NULL && s->password_file != NULL)
        return errinfo_set(info, ERR_CONFIG, "--password-file needs a user: give -u");
    if (s->user != NULL && strchr(s->user, ':') != NULL)
        return errinfo_set(info, ERR_CONFIG, "a user's name cannot hold a ':'");
    return s->user == NULL ? ERR_OK
                           : cli_password_get(&s->password, s->user, s->password_file, info);
}

void
cli_server_free(struct cli_server *s)
{
    buf_free(&s->text);
    secret_free(&s->password);
}
