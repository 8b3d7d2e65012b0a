/*
 * topic_url.c: see topic_url.h.
 */
#include "sink/topic_url.h"

#include "base/text.h"
#include "base/url.h"
#include "sink/sink.h"

enum err
topic_url_text(const struct sink_def *def, struct buf *out, struct errinfo *info)
{
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info);

    if (err != ERR_OK)
        return ERR_CONFIG;
    err = text_unpercent(out, slice_from(url.path, 1), false);
    if (err == ERR_NOMEM)
        return errinfo_set(info, err, "no memory for a topic");
    return err == ERR_OK ? err : errinfo_set(info, ERR_CONFIG, "the topic is not percent-encoded");
}

enum err
topic_url_open(struct template **out, const struct sink_def *def, enum template_rule rule,
               struct errinfo *info)
{
    struct buf text;
    enum err err;

    buf_init(&text, URL_TEXT_MAX);
    err = topic_url_text(def, &text, info);
    if (err == ERR_OK)
        err = template_open(out, buf_peek(&text), rule, info);
    buf_free(&text);
    return err;
}

enum err
topic_url_check(const struct sink_def *def, enum template_rule rule, bool many_hosts,
                size_t longest, struct errinfo *info)
{
    struct template *t;
    struct slice topic;
    struct url url;
    enum err err = url_parse(slice_of(def->url), &url, info);

    if (err != ERR_OK)
        return ERR_CONFIG;
    topic = slice_from(url.path, 1);
    if (!many_hosts && url.host_count > 1)
        return errinfo_set(info, ERR_CONFIG, "the URL of type %s has one host", def->type->name);
    if (topic.n == 0 || topic.n > longest)
        return errinfo_set(info, ERR_CONFIG,
                           "the URL of type %s needs a topic of 1 to %zu bytes behind the host",
                           def->type->name, longest);
    if (url.has_query)
        return errinfo_set(info, ERR_CONFIG, "the URL of type %s takes no query", def->type->name);
    err = topic_url_open(&t, def, rule, info);
    if (err == ERR_OK)
        template_close(t);
    return err;
}
