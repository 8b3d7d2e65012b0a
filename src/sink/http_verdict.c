/*
 * http_verdict.c: see http_verdict.h.
 */
#include "sink/http_verdict.h"

#include "base/num.h"

enum err
http_verdict_parse(struct http_success *out, struct slice list, struct errinfo *info)
{
    struct slice rest = list, word;
    uint64_t status;

    *out = (struct http_success){{0}};
    while (slice_split(&rest, ',', &word)) {
        if (num_u64_max(slice_trim(word), 599, &status) != ERR_OK || status < 200)
            return errinfo_set(info, ERR_CONFIG,
                               "option success_status takes statuses from 200 to 599 with commas "
                               "between, like 200,204");
        out->bits[status / 8] |= (uint8_t)(1u << (status % 8));
    }
    return ERR_OK;
}

static bool
confirms(const struct http_success *success, int status)
{
    return status >= 0 && status < 600 && (success->bits[status / 8] & (1u << (status % 8))) != 0;
}

static bool
contains(struct slice text, struct slice what)
{
    for (size_t i = 0; i + what.n <= text.n; i++) {
        if (memcmp(text.p + i, what.p, what.n) == 0)
            return true;
    }
    return false;
}

/* InfluxDB's words for single lines that it refuses. */
static bool
speaks_of_points(struct slice body)
{
    struct slice head = slice_to(body, 4096);

    return contains(head, SLICE("partial write")) || contains(head, SLICE("unable to parse"));
}

static struct outcome
outcome_of(enum delivery what, enum store_error_kind kind, int64_t retry_after_ms)
{
    struct outcome o;

    outcome_is(&o, what, kind);
    o.retry_after_ms = retry_after_ms > 0 ? retry_after_ms : 0;
    return o;
}

struct outcome
http_verdict_of(const struct http_success *success, int status, int64_t retry_after_ms,
                struct slice body)
{
    struct outcome o;

    if (confirms(success, status))
        return outcome_of(DELIVERY_DONE, STORE_ERROR_TARGET, 0);
    switch (status) {
    case 400:
    case 422:
        o = outcome_of(DELIVERY_REJECTED, STORE_ERROR_REJECTED, 0);
        o.names_points = speaks_of_points(body);
        return o;
    case 401:
    case 403:
        return outcome_of(DELIVERY_AUTH, STORE_ERROR_AUTH, 0);
    case 408:
        return outcome_of(DELIVERY_TRANSIENT, STORE_ERROR_TIMEOUT, retry_after_ms);
    case 413:
        return outcome_of(DELIVERY_TOO_LARGE, STORE_ERROR_REJECTED, 0);
    case 429:
        return outcome_of(DELIVERY_THROTTLED, STORE_ERROR_THROTTLED, retry_after_ms);
    default:
        break;
    }
    if (status == 503 && retry_after_ms >= 0)
        return outcome_of(DELIVERY_THROTTLED, STORE_ERROR_THROTTLED, retry_after_ms);
    if (status >= 500)
        return outcome_of(DELIVERY_TRANSIENT, STORE_ERROR_TARGET, retry_after_ms);
    return outcome_of(DELIVERY_TARGET, STORE_ERROR_TARGET, 0);
}
