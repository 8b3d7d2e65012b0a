/*
 * fuzz_main.c: replays the saved inputs of a fuzz target, for compilers without libFuzzer. Each
 * argument is a file or a folder of files; each input is laid before a guard page. Ends with 1 when
 * there was nothing to replay, as a corpus that is not found must not look like a success.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replayed;

static void
replay_file(const char *path)
{
    static uint8_t bytes[4 << 20];
    FILE *file = fopen(path, "rb");
    struct slice input;
    size_t n;

    if (file == NULL) {
        perror(path);
        exit(1);
    }
    n = fread(bytes, 1, sizeof(bytes), file);
    if (ferror(file) || !feof(file)) {
        fprintf(stderr, "%s: cannot be read, or is larger than %zu bytes\n", path,
                sizeof(bytes) - 1);
        exit(1);
    }
    fclose(file);
    input = guard_copy(slice_make(bytes, n));
    /* Named before it runs: a crash says nothing of its input. */
    printf("%s\n", path);
    fflush(stdout);
    (void)LLVMFuzzerTestOneInput(input.p, input.n);
    guard_free(input);
    replayed++;
}

static void
replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[4096];

    if (dir == NULL) {
        perror(folder);
        exit(1);
    }
    while ((entry = readdir(dir)) != NULL) {
        struct stat st;

        if (entry->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= sizeof(path)) {
            fprintf(stderr, "%s: a name is too long\n", folder);
            exit(1);
        }
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            replay_file(path);
    }
    closedir(dir);
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i]);
    }
    printf("%zu inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
