/*
 * h1_parse.c: heads of requests and responses (RFC 9112 sections 2 to 6).
 *
 * h1_parse_find looks at every byte once and refuses what no head may hold; what comes after it
 * relies on that: lines end in LF or CR LF, there is no other CR and no control byte but the tab.
 */
#include "http/h1_parse.h"

#include "base/num.h"

static enum err
fault_set(struct h1_fault *fault, enum err err, int status, const char *text, bool in_body)
{
    fault->status = status;
    fault->text = text;
    fault->in_body = in_body;
    return err;
}

static enum err
bad(struct h1_fault *fault, const char *text)
{
    return fault_set(fault, ERR_BAD, 400, text, false);
}

/* Token characters, RFC 9110 section 5.6.2. */
static bool
is_tchar(uint8_t b)
{
    if ((b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9'))
        return true;
    return b > ' ' && b < 0x7f && memchr("!#$%&'*+-.^_`|~", b, 15) != NULL;
}

bool
h1_parse_is_token(struct slice s)
{
    size_t i;

    for (i = 0; i < s.n; i++)
        if (!is_tchar(s.p[i]))
            return false;
    return s.n > 0;
}

static bool
is_control(uint8_t b)
{
    return (b < 0x20 && b != '\t') || b == 0x7f;
}

/* line_length(in, line, end): without the CR before the LF at ${end}. */
static size_t
line_length(struct slice in, size_t line, size_t end)
{
    return end > line && in.p[end - 1] == '\r' ? end - 1 - line : end - line;
}

/* check_byte(scan, in, i, fault): whether the byte, no LF, may stand where it stands. */
static enum err
check_byte(const struct h1_scan *scan, struct slice in, size_t i, struct h1_fault *fault)
{
    uint8_t b = in.p[i];

    if (i > scan->line && in.p[i - 1] == '\r')
        return bad(fault, "a CR without a LF in the head");
    if (b == '\r')
        return ERR_OK;
    if (is_control(b)) {
        if (scan->lines > 0)
            return fault_set(fault, ERR_BAD, 400, "invalid header value", true);
        return bad(fault, "a control byte in the first line");
    }
    /* Anything else than a token here (TLS, for one) will never become HTTP: do not wait for it.
     * */
    if (scan->lines == 0 && i == scan->line && !is_tchar(b))
        return bad(fault, "the first line does not begin with a method");
    return ERR_OK;
}

enum err
h1_parse_find(struct h1_scan *scan, struct slice in, size_t *length, struct h1_fault *fault)
{
    size_t i;

    for (i = scan->at; i < in.n && i < H1_HEAD_MAX; i++) {
        if (in.p[i] != '\n') {
            if (check_byte(scan, in, i, fault) != ERR_OK)
                return ERR_BAD;
            continue;
        }
        if (line_length(in, scan->line, i) > 0) {
            scan->lines++;
        } else if (scan->lines > 0) {
            *length = i + 1;
            scan->at = i + 1;
            return ERR_OK;
        }
        scan->line = i + 1;
    }
    scan->at = i;
    if (i >= H1_HEAD_MAX)
        return fault_set(fault, ERR_RANGE, 431, "the head is longer than 65536 bytes", false);
    return ERR_SHORT;
}

/* cut_line(rest, line): the next line without its end; false when nothing is left. */
static bool
cut_line(struct slice *rest, struct slice *line)
{
    if (!slice_split(rest, '\n', line))
        return false;
    if (line->n > 0 && line->p[line->n - 1] == '\r')
        line->n--;
    return true;
}

/* first_line(head, line): skips the empty lines that may stand before it; ${head} is what
 * follows. */
static bool
first_line(struct slice *head, struct slice *line)
{
    while (cut_line(head, line))
        if (line->n > 0)
            return true;
    return false;
}

/* parse_version(s, minor, fault): "HTTP/1.1", RFC 9112 section 2.3. */
static enum err
parse_version(struct slice s, int *minor, struct h1_fault *fault)
{
    if (s.n != 8 || !slice_starts(s, SLICE("HTTP/")) || s.p[5] < '0' || s.p[5] > '9' ||
        s.p[6] != '.' || s.p[7] < '0' || s.p[7] > '9')
        return bad(fault, "malformed HTTP version");
    if (s.p[5] != '1')
        return fault_set(fault, ERR_BAD, 505, "unsupported protocol version", true);
    *minor = s.p[7] == '0' ? 0 : 1;
    return ERR_OK;
}

static enum err
parse_request_line(struct slice line, struct h1_head *out, struct h1_fault *fault)
{
    struct slice rest = line, version;
    size_t i;

    if (!slice_split(&rest, ' ', &out->method) || !h1_parse_is_token(out->method))
        return bad(fault, "malformed request line: invalid method");
    if (!slice_split(&rest, ' ', &out->target) || out->target.n == 0)
        return bad(fault, "malformed request line: method, target and version are needed");
    for (i = 0; i < out->target.n; i++)
        if (out->target.p[i] == '\t')
            return bad(fault, "malformed request line: a tab in the target");
    version = rest;
    if (slice_find(version, ' ') != version.n)
        return bad(fault, "malformed request line: a blank in the target");
    return parse_version(version, &out->minor, fault);
}

static enum err
parse_status_line(struct slice line, struct h1_head *out, struct h1_fault *fault)
{
    struct slice rest = line, version, status;
    uint64_t number;
    enum err err;

    if (!slice_split(&rest, ' ', &version) || !slice_split(&rest, ' ', &status))
        return bad(fault, "malformed status line");
    err = parse_version(version, &out->minor, fault);
    if (err != ERR_OK)
        return err;
    if (status.n != 3 || num_u64_max(status, 599, &number) != ERR_OK || number < 100)
        return bad(fault, "malformed status line: the status is no number of 100 to 599");
    out->status = (int)number;
    out->reason = rest;
    return ERR_OK;
}

/* What the fields say about framing and the connection, gathered in one walk. */
struct framing {
    unsigned hosts, lengths, codings, expects, continues;
    uint64_t length;
    struct slice coding; /* the last Transfer-Encoding */
    bool close, keep_alive;
};

/* has_token(list, token): whether a comma-separated list names it. */
static bool
has_token(struct slice list, struct slice token)
{
    struct slice item;

    while (slice_split(&list, ',', &item))
        if (slice_eq_nocase(slice_trim(item), token))
            return true;
    return false;
}

static enum err
note_length(struct framing *f, struct slice value, struct h1_fault *fault)
{
    uint64_t length;

    /* Lists such as "5, 5" are refused like all that is not digits: RFC 9112 section 6.3. */
    if (num_u64_max(value, INT64_MAX, &length) != ERR_OK)
        return bad(fault, "invalid Content-Length");
    if (f->lengths > 0 && length != f->length)
        return bad(fault, "two different Content-Length fields");
    f->length = length;
    f->lengths++;
    return ERR_OK;
}

static enum err
note_field(struct framing *f, struct slice name, struct slice value, struct h1_fault *fault)
{
    if (slice_eq_nocase(name, SLICE("Content-Length")))
        return note_length(f, value, fault);
    if (slice_eq_nocase(name, SLICE("Host"))) {
        f->hosts++;
    } else if (slice_eq_nocase(name, SLICE("Transfer-Encoding"))) {
        f->codings++;
        f->coding = value;
    } else if (slice_eq_nocase(name, SLICE("Connection"))) {
        f->close = f->close || has_token(value, SLICE("close"));
        f->keep_alive = f->keep_alive || has_token(value, SLICE("keep-alive"));
    } else if (slice_eq_nocase(name, SLICE("Expect"))) {
        f->expects++;
        if (slice_eq_nocase(value, SLICE("100-continue")))
            f->continues++;
    }
    return ERR_OK;
}

static enum err
parse_fields(struct slice rest, struct h1_head *out, struct framing *f, struct h1_fault *fault)
{
    struct slice line, name, value;
    size_t colon;
    const uint8_t *begin = rest.p;

    while (cut_line(&rest, &line) && line.n > 0) {
        if (line.p[0] == ' ' || line.p[0] == '\t')
            return bad(fault, "a folded header line"); /* RFC 9112 section 5.2 */
        colon = slice_find(line, ':');
        name = slice_to(line, colon);
        if (colon == line.n || !h1_parse_is_token(name))
            return fault_set(fault, ERR_BAD, 400, "invalid header name", true);
        value = slice_trim(slice_from(line, colon + 1));
        if (note_field(f, name, value, fault) != ERR_OK)
            return ERR_BAD;
        out->fields = slice_make(begin, (size_t)(line.p + line.n - begin));
    }
    out->keep_alive = !f->close && (out->minor > 0 || f->keep_alive);
    return ERR_OK;
}

/* frame_request(out, f, fault): RFC 9112 section 6.3; what two readers could see differently is
 * refused. */
static enum err
frame_request(struct h1_head *out, const struct framing *f, struct h1_fault *fault)
{
    if (out->minor > 0 && f->hosts == 0)
        return fault_set(fault, ERR_BAD, 400, "missing required Host header", true);
    if (f->hosts > 1)
        return fault_set(fault, ERR_BAD, 400, "too many Host headers", true);
    if (f->codings > 0) {
        if (f->lengths > 0)
            return bad(fault, "both Content-Length and Transfer-Encoding");
        if (out->minor == 0)
            return bad(fault, "Transfer-Encoding in a HTTP/1.0 request");
        if (f->codings > 1)
            return bad(fault, "two Transfer-Encoding fields");
        if (!slice_eq_nocase(f->coding, SLICE("chunked")))
            return fault_set(fault, ERR_BAD, 501, "Unsupported transfer encoding", true);
        out->framing = H1_CHUNKED;
    } else if (f->lengths > 0) {
        out->framing = H1_LENGTH;
        out->length = f->length;
    }
    /* An expectation of a HTTP/1.0 client is ignored: RFC 9110 section 10.1.1. */
    out->expects = out->minor > 0 && f->expects > 0;
    out->expects_continue = out->expects && f->continues == f->expects;
    return ERR_OK;
}

enum err
h1_parse_request(struct slice head, struct h1_head *out, struct h1_fault *fault)
{
    struct framing f = {0};
    struct slice line;
    enum err err;

    *out = (struct h1_head){0};
    if (!first_line(&head, &line))
        return bad(fault, "no request line");
    err = parse_request_line(line, out, fault);
    if (err == ERR_OK)
        err = parse_fields(head, out, &f, fault);
    if (err == ERR_OK)
        err = frame_request(out, &f, fault);
    return err;
}

/* ends_chunked(coding): the last coding of the list is chunked. */
static bool
ends_chunked(struct slice coding)
{
    struct slice item, last = {NULL, 0};

    while (slice_split(&coding, ',', &item))
        last = slice_trim(item);
    return slice_eq_nocase(last, SLICE("chunked"));
}

static void
frame_response(struct h1_head *out, const struct framing *f, bool to_head)
{
    if (to_head || out->status < 200 || out->status == 204 || out->status == 304)
        return;
    if (f->codings > 0) {
        out->framing = ends_chunked(f->coding) ? H1_CHUNKED : H1_UNTIL_CLOSE;
        if (f->lengths > 0)
            out->keep_alive = false;
    } else if (f->lengths > 0) {
        out->framing = H1_LENGTH;
        out->length = f->length;
    } else {
        out->framing = H1_UNTIL_CLOSE;
    }
    if (out->framing == H1_UNTIL_CLOSE)
        out->keep_alive = false;
}

enum err
h1_parse_response(struct slice head, bool to_head, struct h1_head *out, struct h1_fault *fault)
{
    struct framing f = {0};
    struct slice line;
    enum err err;

    *out = (struct h1_head){0};
    if (!first_line(&head, &line))
        return bad(fault, "no status line");
    err = parse_status_line(line, out, fault);
    if (err == ERR_OK)
        err = parse_fields(head, out, &f, fault);
    if (err == ERR_OK)
        frame_response(out, &f, to_head);
    return err;
}

bool
h1_parse_next(struct slice *rest, struct slice *name, struct slice *value)
{
    struct slice line;
    size_t colon;

    if (!cut_line(rest, &line))
        return false;
    colon = slice_find(line, ':');
    *name = slice_to(line, colon);
    *value = slice_trim(slice_from(line, colon + 1));
    return true;
}

bool
h1_parse_field(const struct h1_head *head, struct slice name, struct slice *value)
{
    struct slice rest = head->fields, n;

    while (h1_parse_next(&rest, &n, value))
        if (slice_eq_nocase(n, name))
            return true;
    *value = (struct slice){NULL, 0};
    return false;
}

bool
h1_parse_has_token(const struct h1_head *head, struct slice name, struct slice token)
{
    struct slice rest = head->fields, n, value;

    while (h1_parse_next(&rest, &n, &value))
        if (slice_eq_nocase(n, name) && has_token(value, token))
            return true;
    return false;
}
