/*
 * cli_args.c: getopt_long is no POSIX, and getopt cannot mix options and operands.
 */
#include "cli/cli_args.h"

#include <stdint.h>
#include <string.h>

struct parse {
    int argc, i;
    char **argv;
    const struct cli_arg *args;
    size_t count;
    uint64_t seen; /* one bit an option */
    struct errinfo *info;
};

/* Set option number ${n}; ${value} is what was glued to it, or NULL. */
static enum err
take(struct parse *k, size_t n, const char *shown, size_t shown_n, const char *value)
{
    const struct cli_arg *arg = &k->args[n];

    if ((k->seen >> n & 1) != 0)
        return errinfo_set(k->info, ERR_CONFIG, "option %.*s is given twice", (int)shown_n, shown);
    k->seen |= (uint64_t)1 << n;
    if (arg->text == NULL) {
        if (value != NULL)
            return errinfo_set(k->info, ERR_CONFIG, "option %.*s takes no value", (int)shown_n,
                               shown);
        *arg->flag = true;
        return ERR_OK;
    }
    if (value == NULL && k->i + 1 < k->argc)
        value = k->argv[++k->i];
    if (value == NULL)
        return errinfo_set(k->info, ERR_CONFIG, "option %.*s needs a value", (int)shown_n, shown);
    *arg->text = value;
    return ERR_OK;
}

static enum err
take_long(struct parse *k, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t n = equals == NULL ? strlen(word) : (size_t)(equals - word);

    for (size_t i = 0; i < k->count; i++) {
        const char *name = k->args[i].name;

        if (name != NULL && strlen(name) == n - 2 && memcmp(name, word + 2, n - 2) == 0)
            return take(k, i, word, n, equals == NULL ? NULL : equals + 1);
    }
    return errinfo_set(k->info, ERR_CONFIG, "unknown option %.*s", n > 40 ? 40 : (int)n, word);
}

static enum err
take_short(struct parse *k, const char *word)
{
    for (size_t i = 0; i < k->count; i++) {
        if (k->args[i].letter == word[1])
            return take(k, i, word, 2, word[2] == '\0' ? NULL : word + 2);
    }
    return errinfo_set(k->info, ERR_CONFIG, "unknown option %.2s", word);
}

enum err
cli_args_parse(int argc, char **argv, const struct cli_arg *args, size_t count,
               struct cli_operands *operands, struct errinfo *info)
{
    struct parse k = {argc, 1, argv, args, count, 0, info};
    bool only_operands = false;
    enum err err = ERR_OK;

    for (; k.i < argc && err == ERR_OK; k.i++) {
        const char *word = argv[k.i];

        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (operands->count == operands->max)
                return errinfo_set(info, ERR_CONFIG, "too many arguments");
            operands->list[operands->count++] = word;
        } else {
            err = word[1] == '-' ? take_long(&k, word) : take_short(&k, word);
        }
    }
    return err;
}

bool
cli_args_want_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return true;
    }
    return false;
}
