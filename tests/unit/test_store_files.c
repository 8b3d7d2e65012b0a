/*
 * test_store_files.c: a store whose folder is not what it should be: cut, damaged and foreign
 * files, no rights, another process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "store/store.h"
#include "support/store_drive.h"

#define MB 1000000u

struct fixture {
    char dir[STORE_DRIVE_DIR];
    struct store *s;
};

static const struct clock *const clock_used = &clock_system;

static void
open_it(struct fixture *f)
{
    f->s = store_drive_open(f->dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used);
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    store_drive_dir(f->dir);
    open_it(f);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    store_close(f->s);
    store_drive_remove(f->dir);
    free(f);
    assert_int_equal(mem_live(), 0);
    return 0;
}

/* All that the log holds. */
static uint64_t
read_points(struct store *s, struct store_scan *scan)
{
    struct store_usage usage;

    store_usage(s, &usage);
    return store_drive_read(s, usage.first_seq - 1, scan);
}

static void
define(struct store *s)
{
    struct store_record record = {.sink = 5};
    struct errinfo info;

    assert_int_equal(store_begin(s, &info), ERR_OK);
    assert_int_equal(store_put_meta(s, SLICE("meta_sink:a"), SLICE("secret definition"), &info),
                     ERR_OK);
    assert_int_equal(store_put_record(s, &record, &info), ERR_OK);
    assert_int_equal(store_commit(s, &info), ERR_OK);
}

static void
count_meta(void *arg, struct slice key, struct slice value)
{
    assert_true(slice_eq(key, SLICE("meta_sink:a")));
    assert_true(slice_eq(value, SLICE("secret definition")));
    ++*(unsigned *)arg;
}

static void
count_record(void *arg, const struct store_record *r)
{
    assert_int_equal(r->sink, 5);
    assert_int_equal(r->cursor, 0);
    ++*(unsigned *)arg;
}

static void
data_path(const struct fixture *f, char path[STORE_DRIVE_DIR + 64])
{
    store_drive_path(path, f->dir, "data.mdb");
}

static bool
exists(const struct fixture *f, const char *name)
{
    char path[STORE_DRIVE_DIR + 64];
    struct stat st;

    store_drive_path(path, f->dir, name);
    return stat(path, &st) == 0;
}

/* ---- files that are not what they should be ---- */

/* Damage was found: the log is empty, the definitions are there, the file was kept. */
static void
assert_started_empty(struct fixture *f, const char *old_node, uint64_t moved)
{
    struct store_usage usage;
    struct errinfo info;
    unsigned metas = 0, records = 0;
    char name[32];

    store_usage(f->s, &usage);
    assert_int_equal(usage.last_seq, 0);
    assert_int_equal(usage.damaged_files, moved);
    assert_false(store_is_new(f->s));
    assert_string_not_equal(store_node_suffix(f->s), old_node);
    assert_int_equal(store_each_meta(f->s, SLICE(""), count_meta, &metas, &info), ERR_OK);
    assert_int_equal(store_each_record(f->s, count_record, &records, &info), ERR_OK);
    assert_int_equal(metas, 1);
    assert_int_equal(records, 1);
    assert_int_equal(store_next_sink(f->s), 6);
    (void)snprintf(name, sizeof(name), "data.mdb.damaged-%u", (unsigned)(moved > 3 ? 3 : moved));
    assert_true(exists(f, name));
    assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
}

static void
a_cut_file_is_moved_aside(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64], node[16];
    struct stat st;
    unsigned i;

    data_path(f, path);
    define(f->s);
    for (i = 0; i < 5; i++) {
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 20000, 100), ERR_OK);
        (void)snprintf(node, sizeof(node), "%s", store_node_suffix(f->s));
        store_close(f->s);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, i == 0   ? 0
                                        : i == 1 ? 1
                                        : i == 2 ? 4096
                                        : i == 3 ? st.st_size / 2
                                                 : st.st_size - 80 * 4096),
                         0);
        open_it(f);
        assert_started_empty(f, node, i + 1);
    }
}

/* The end of a sound file may never have been written. If it was needed, that shows as damage,
 * not as a crash. */
static void
a_short_end_is_no_crash(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64];
    struct store_usage usage;
    struct store_scan scan;
    struct stat st;
    unsigned i;

    data_path(f, path);
    for (i = 0; i < 8; i++) {
        assert_int_equal(store_drive_commit_body(f->s, clock_used, 20000, 100), ERR_OK);
        store_close(f->s);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(truncate(path, i == 0 ? st.st_size - 1 : st.st_size - (off_t)i * 8 * 4096),
                         0);
        open_it(f);
        store_usage(f->s, &usage);
        assert_int_equal(read_points(f->s, &scan) + scan.damaged,
                         usage.last_seq - usage.first_seq + 1);
    }
}

static void
overwrite(const char *path, off_t at, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    assert_true(fd != -1);
    assert_int_equal(lseek(fd, at, SEEK_SET), at);
    assert_int_equal(write(fd, p, n), (ssize_t)n);
    (void)close(fd);
}

static void
garbage_is_moved_aside(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64], node[16], garbage[8192];

    data_path(f, path);
    define(f->s);
    (void)snprintf(node, sizeof(node), "%s", store_node_suffix(f->s));
    store_close(f->s);
    memset(garbage, 0x5a, sizeof(garbage));
    overwrite(path, 0, garbage, sizeof(garbage));
    open_it(f);
    assert_started_empty(f, node, 1);
}

static void
a_missing_file_gets_its_definitions_back(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64];
    struct stat st;
    unsigned metas = 0;
    struct errinfo info;

    define(f->s);
    store_drive_path(path, f->dir, "meta.bak");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    store_close(f->s);
    data_path(f, path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(unlink(path), 0);
    open_it(f);
    assert_false(store_is_new(f->s));
    assert_int_equal(store_each_meta(f->s, SLICE(""), count_meta, &metas, &info), ERR_OK);
    assert_int_equal(metas, 1);
}

static void
assert_refused(struct fixture *f, enum err wanted, const char *word)
{
    const struct store_options options = {f->dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used};
    struct errinfo info = {0};
    struct store *s = NULL;

    assert_int_equal(store_open(&s, &options, &info), wanted);
    if (strstr(info.text, word) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", info.text, word);
}

static void
nothing_starts_without_usable_definitions(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64];

    define(f->s);
    store_close(f->s);
    f->s = NULL;
    store_drive_path(path, f->dir, "meta.bak");
    overwrite(path, 40, "x", 1);
    data_path(f, path);
    assert_int_equal(truncate(path, 100), 0);
    assert_refused(f, ERR_CONFIG, "meta.bak");
    store_drive_path(path, f->dir, "meta.bak");
    assert_int_equal(unlink(path), 0);
    open_it(f);
}

static void
files_of_other_machines_are_refused_untouched(void **state)
{
    struct fixture *f = *state;
    const size_t word = sizeof(size_t), at = word == 8 ? 16 : 12, other = word == 8 ? 12 : 16;
    char path[STORE_DRIVE_DIR + 64];
    uint8_t head[32], changed[32], magic[8];
    int fd;

    assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
    store_close(f->s);
    f->s = NULL;
    data_path(f, path);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
    (void)close(fd);
    memcpy(magic, head + at, 8);

    memcpy(changed, head, sizeof(head)); /* the other byte order */
    store_be32(changed + at, load_le32(head + at));
    overwrite(path, 0, changed, sizeof(changed));
    assert_refused(f, ERR_CONFIG, "endian");

    memset(changed, 0, sizeof(changed)); /* the other word size */
    memcpy(changed + other, magic, 4);
    overwrite(path, 0, changed, sizeof(changed));
    assert_refused(f, ERR_CONFIG, "-bit");

    memcpy(changed, head, sizeof(head)); /* another format */
    changed[at + 4] ^= 3;
    changed[at + 7] ^= 3;
    overwrite(path, 0, changed, sizeof(changed));
    assert_refused(f, ERR_CONFIG, "another LMDB");

    assert_false(exists(f, "data.mdb.damaged-1"));
    overwrite(path, 0, head, sizeof(head));
    open_it(f);
}

static void
a_damaged_chunk_is_counted_and_set_aside(void **state)
{
    struct fixture *f = *state;
    char path[STORE_DRIVE_DIR + 64];
    struct store_scan scan;
    uint8_t *all;
    long size, i, hits = 0;
    FILE *file;
    uint64_t points;

    assert_int_equal(store_drive_commit_body(f->s, clock_used, 2000, 100), ERR_OK);
    store_close(f->s);
    data_path(f, path);
    file = fopen(path, "r+b");
    assert_non_null(file);
    (void)fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    all = malloc((size_t)size);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, (size_t)size, file), (size_t)size);
    for (i = 0; i + 8 < size && hits == 0; i++) /* a line in the middle of the log */
        if (memcmp(all + i, "v=1000i", 7) == 0) {
            (void)fseek(file, i, SEEK_SET);
            (void)fputc('w', file);
            hits++;
        }
    (void)fclose(file);
    free(all);
    assert_int_equal(hits, 1);
    open_it(f);
    points = read_points(f->s, &scan);
    assert_true(scan.damaged > 0 && scan.damaged < 60);
    assert_int_equal(points + scan.damaged, 2000);
    assert_int_equal(scan.missing, 0);
    assert_int_equal(read_points(f->s, &scan), points); /* and again: set aside once */
}

/* ---- other processes ---- */

static int
wait_child(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        ;
    return status;
}

static void
a_second_process_is_told_who_has_it(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {f->dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used};
    char wanted[32];
    pid_t pid;

    (void)snprintf(wanted, sizeof(wanted), "process %ld", (long)getpid());
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct errinfo info = {0};
        struct store *s = NULL;
        enum err err = store_open(&s, &options, &info);

        _exit(err == ERR_BUSY && strstr(info.text, wanted) != NULL ? 7 : 1);
    }
    assert_int_equal(WEXITSTATUS(wait_child(pid)), 7);
    assert_int_equal(store_drive_commit_body(f->s, clock_used, 10, 10), ERR_OK);
}

static void
rights_are_refused_in_words(void **state)
{
    struct fixture *f = *state;
    const struct store_options options = {f->dir, 16 * MB, STORE_SYNC_ALWAYS, clock_used};
    pid_t pid;

    store_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct errinfo info = {0};
        struct store *s = NULL;

        if (geteuid() == 0 ? seteuid(65534) != 0 : chmod(f->dir, 0500) != 0)
            _exit(2);
        _exit(store_open(&s, &options, &info) == ERR_DENIED && strstr(info.text, "user") != NULL
                  ? 7
                  : 1);
    }
    assert_int_equal(WEXITSTATUS(wait_child(pid)), 7);
    (void)chmod(f->dir, 0700);
}

/* A machine with little address space: as a limit on it, in a child, where no sanitizer needs
 * it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAN_LIMIT_MAPS 0
#else
#define CAN_LIMIT_MAPS 1
#endif

static void
a_map_that_cannot_be_had_is_halved(void **state)
{
    struct fixture *f = *state;
    const struct rlimit limit = {300 * MB, 300 * MB};
    pid_t pid;

    store_close(f->s);
    f->s = NULL;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct store *s;

        if (!CAN_LIMIT_MAPS || setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(7);
        s = store_drive_open(f->dir, UINT64_C(1) << 33, STORE_SYNC_ALWAYS, clock_used);
        _exit(store_map_bytes(s) >= 100 * MB && store_map_bytes(s) < 300 * MB &&
                      store_drive_commit_body(s, clock_used, 100, 100) == ERR_OK
                  ? 7
                  : 1);
    }
    assert_int_equal(WEXITSTATUS(wait_child(pid)), 7);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cut_file_is_moved_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(a_short_end_is_no_crash, setup, teardown),
        cmocka_unit_test_setup_teardown(garbage_is_moved_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(a_missing_file_gets_its_definitions_back, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_starts_without_usable_definitions, setup, teardown),
        cmocka_unit_test_setup_teardown(files_of_other_machines_are_refused_untouched, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_damaged_chunk_is_counted_and_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_process_is_told_who_has_it, setup, teardown),
        cmocka_unit_test_setup_teardown(rights_are_refused_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(a_map_that_cannot_be_had_is_halved, setup, teardown),
    };

    return cmocka_run_group_tests_name("store_files", tests, NULL, NULL);
}
