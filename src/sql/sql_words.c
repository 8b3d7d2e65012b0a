/*
 * sql_words.c: the words of the language that name sink types and formats. See sql_words.h.
 */
#include "sql/sql_words.h"

static const char *const type_names[] = {
    [SQL_TYPE_HTTP_LINE] = "http_line", [SQL_TYPE_HTTP_MSGPACK] = "http_msgpack",
    [SQL_TYPE_MQTT] = "mqtt",           [SQL_TYPE_KAFKA] = "kafka",
    [SQL_TYPE_STDOUT] = "stdout",
};

static const char *const format_names[] = {
    [SQL_FORMAT_LINE_PROTOCOL] = "line_protocol",
    [SQL_FORMAT_JSON] = "json",
    [SQL_FORMAT_MSGPACK] = "msgpack",
};

const char *
sql_words_type(enum sql_type type)
{
    return type_names[type];
}

const char *
sql_words_format(enum sql_format format)
{
    return format_names[format];
}

static bool
find_name(struct slice word, const char *const *names, size_t count, size_t *index)
{
    for (size_t i = 0; i < count; i++) {
        if (!slice_eq_nocase(word, slice_of(names[i])))
            continue;
        *index = i;
        return true;
    }
    return false;
}

bool
sql_words_find_type(struct slice word, enum sql_type *type)
{
    size_t index;

    if (!find_name(word, type_names, sizeof(type_names) / sizeof(type_names[0]), &index))
        return false;
    *type = (enum sql_type)index;
    return true;
}

bool
sql_words_find_format(struct slice word, enum sql_format *format)
{
    size_t index;

    if (!find_name(word, format_names, sizeof(format_names) / sizeof(format_names[0]), &index))
        return false;
    *format = (enum sql_format)index;
    return true;
}
