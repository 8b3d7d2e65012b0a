/*
 * sink_options.c: see sink_options.h.
 */
#include "sink/sink_options.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct option common[] = {
    {"on_full", OPTION_CHOICE, "inherit", 0, 0, "inherit reject drop_oldest",
     "whether this sink may lose its oldest points when the log is full"},
    {"on_reject", OPTION_CHOICE, "dead_letter", 0, 0, "dead_letter drop block",
     "what becomes of a point that the destination refuses for good"},
    {"precision", OPTION_CHOICE, "ns", 0, 0, "ns us ms s", "unit of the timestamps that are sent"},
    {"verbose", OPTION_BOOL, "false", 0, 0, NULL, "a log line for each batch"},
};

static const struct option network[] = {
    {"timeout", OPTION_DURATION, "10s", 100, 3600000, NULL,
     "longest wait for a connection or an answer"},
    {"max_batch_bytes", OPTION_NUMBER, "1000000", 1000, 1000000000, NULL,
     "most bytes of points in one request; a larger point goes alone"},
    {"tls_ca", OPTION_TEXT, NULL, 0, 4096, NULL, "file with the certificates to trust"},
    {"tls_cert", OPTION_TEXT, NULL, 0, 4096, NULL, "file with the client's certificate"},
    {"tls_key", OPTION_TEXT, NULL, 0, 4096, NULL, "file with the client's key"},
    {"tls_server_name", OPTION_TEXT, NULL, 0, 255, NULL,
     "name to expect in the server's certificate, if not the URL's host"},
    {"tls_alpn", OPTION_TEXT, NULL, 0, 255, NULL, "protocol to ask for in the handshake"},
    {"tls_insecure", OPTION_BOOL, "false", 0, 0, NULL, "do not check the server's certificate"},
    {"password_file", OPTION_TEXT, NULL, 0, 4096, NULL, "file that holds the password"},
};

const struct option *
sink_options_at(const struct sink_type *type, size_t i)
{
    if (i < COUNT(common))
        return &common[i];
    i -= COUNT(common);
    if (type->has_url) {
        if (i < COUNT(network))
            return &network[i];
        i -= COUNT(network);
    }
    return i < type->options.count ? &type->options.list[i] : NULL;
}

size_t
sink_options_count(const struct sink_type *type)
{
    return COUNT(common) + (type->has_url ? COUNT(network) : 0) + type->options.count;
}
