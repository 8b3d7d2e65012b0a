/*
 * h1_body.c: bodies by length, in chunks, or until the close (RFC 9112 sections 6 and 7.1).
 */
#include "http/h1_body.h"

enum {
    SIZE_FIRST, /* the first digit of a size line */
    SIZE,       /* more digits */
    SIZE_BLANK, /* blanks between the size and what follows */
    EXTENSION,  /* skipped to the end of the line */
    SIZE_LF,    /* LF must end the size line */
    DATA,
    DATA_CR,
    DATA_LF, /* CR LF behind the data of a chunk */
    TRAILER, /* at the start of a trailer line, or of the empty one that ends the body */
    TRAILER_LINE,
    TRAILER_LF,
    END_LF
};

void
h1_body_init(struct h1_body *b, enum h1_framing framing, uint64_t length)
{
    *b = (struct h1_body){0};
    b->framing = framing;
    b->left = framing == H1_LENGTH ? length : 0;
    b->state = SIZE_FIRST;
    b->done = framing == H1_NONE || (framing == H1_LENGTH && length == 0);
}

static int
hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static enum err
refuse(struct h1_body *b, const char *why)
{
    b->why = why;
    return ERR_BAD;
}

/* after_size(b, c): a byte behind the digits of a size. */
static enum err
after_size(struct h1_body *b, uint8_t c)
{
    if (c == '\r')
        b->state = SIZE_LF;
    else if (c == ';')
        b->state = EXTENSION;
    else if (c == ' ' || c == '\t')
        b->state = SIZE_BLANK;
    else if (c == '\n')
        return refuse(b, "malformed chunked encoding");
    else
        return refuse(b, "invalid byte in chunk length");
    return ERR_OK;
}

static enum err
size_byte(struct h1_body *b, uint8_t c)
{
    int digit = hex_digit(c);

    if (digit >= 0) {
        if (b->left > (uint64_t)INT64_MAX >> 4)
            return refuse(b, "http chunk length too large");
        b->left = b->left << 4 | (uint64_t)digit;
        b->state = SIZE;
        return ERR_OK;
    }
    if (b->state == SIZE_FIRST)
        return refuse(b, "invalid byte in chunk length");
    return after_size(b, c);
}

/* skipped_byte(b, c, on_cr): a byte of an extension or of a trailer line. */
static enum err
skipped_byte(struct h1_body *b, uint8_t c, unsigned on_cr)
{
    if (c == '\r')
        b->state = on_cr;
    else if ((c < 0x20 && c != '\t') || c == 0x7f)
        return refuse(b, "malformed chunked encoding");
    return ERR_OK;
}

/* expect(b, c, wanted, next): the grammar leaves no choice. */
static enum err
expect(struct h1_body *b, uint8_t c, uint8_t wanted, unsigned next)
{
    if (c != wanted)
        return refuse(b, "malformed chunked encoding");
    b->state = next;
    return ERR_OK;
}

/* trailer_byte(b, c): the trailer's lines are skipped, not read: nothing here needs them. */
static enum err
trailer_byte(struct h1_body *b, uint8_t c)
{
    if (b->state == TRAILER && c == '\r') {
        b->state = END_LF;
        return ERR_OK;
    }
    b->state = TRAILER_LINE;
    return skipped_byte(b, c, TRAILER_LF);
}

static enum err
grammar_byte(struct h1_body *b, uint8_t c)
{
    enum err err;

    switch (b->state) {
    case SIZE_FIRST:
    case SIZE:
        return size_byte(b, c);
    case SIZE_BLANK:
        return after_size(b, c);
    case EXTENSION:
        return skipped_byte(b, c, SIZE_LF);
    case SIZE_LF:
        return expect(b, c, '\n', b->left > 0 ? DATA : TRAILER);
    case DATA_CR:
        return expect(b, c, '\r', DATA_LF);
    case DATA_LF:
        return expect(b, c, '\n', SIZE_FIRST);
    case TRAILER_LF:
        return expect(b, c, '\n', TRAILER);
    case END_LF:
        err = expect(b, c, '\n', END_LF);
        b->done = err == ERR_OK;
        return err;
    default:
        return trailer_byte(b, c);
    }
}

/* bounded_byte(b, c): grammar_byte, and lines and trailers have an end. */
static enum err
bounded_byte(struct h1_body *b, uint8_t c)
{
    enum err err;

    if (b->state == SIZE_FIRST)
        b->skipped = 0;
    err = grammar_byte(b, c);
    if (err != ERR_OK)
        return err;
    b->skipped++;
    if (b->skipped > (b->state >= TRAILER ? H1_TRAILER_MAX : H1_CHUNK_LINE_MAX))
        return refuse(b, "chunk extension or trailer too long");
    return ERR_OK;
}

/* take(b, in, used, data): the next piece of ${b->left} bytes of content. */
static enum err
take(struct h1_body *b, struct slice in, size_t *used, struct slice *data)
{
    struct slice rest = slice_from(in, *used);

    if (rest.n == 0)
        return ERR_SHORT;
    if (rest.n > b->left)
        rest.n = (size_t)b->left;
    *data = rest;
    *used += rest.n;
    b->left -= rest.n;
    return ERR_OK;
}

static enum err
next_chunked(struct h1_body *b, struct slice in, size_t *used, struct slice *data)
{
    enum err err;

    while (!b->done) {
        if (b->state == DATA) {
            err = take(b, in, used, data);
            if (b->left == 0)
                b->state = DATA_CR;
            return err;
        }
        if (*used == in.n)
            return ERR_SHORT;
        err = bounded_byte(b, in.p[*used]);
        if (err != ERR_OK)
            return err;
        (*used)++;
    }
    return ERR_EOF;
}

enum err
h1_body_next(struct h1_body *b, struct slice in, size_t *used, struct slice *data)
{
    enum err err;

    *used = 0;
    *data = (struct slice){NULL, 0};
    if (b->done)
        return ERR_EOF;
    if (b->why != NULL)
        return ERR_BAD;
    switch (b->framing) {
    case H1_CHUNKED:
        return next_chunked(b, in, used, data);
    case H1_LENGTH:
        err = take(b, in, used, data);
        b->done = b->left == 0;
        return err;
    case H1_UNTIL_CLOSE:
        if (in.n == 0)
            return ERR_SHORT;
        *data = in;
        *used = in.n;
        return ERR_OK;
    case H1_NONE:
        break;
    }
    return ERR_EOF;
}

enum err
h1_body_close(struct h1_body *b)
{
    if (b->framing == H1_UNTIL_CLOSE)
        b->done = true;
    return b->done ? ERR_OK : ERR_SHORT;
}
