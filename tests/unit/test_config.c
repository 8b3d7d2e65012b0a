/*
 * test_config.c: defaults, file, environment, and every kind of error with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"
#include "daemon/config.h"
#include "daemon/config_keys.h"
#include "daemon/config_set.h"

static char folder[] = "/tmp/sinkd-config-XXXXXX";

struct loaded {
    struct config c;
    struct config_report report;
    enum err err;
};

/* Load ${text} as the file sinkd.toml of a folder of its own. */
static void
load(struct loaded *l, const char *text, char *const *environment)
{
    FILE *f = fopen("sinkd.toml", "w");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
    l->err = config_load(&l->c, "sinkd.toml", environment, &l->report);
}

static void
unload(struct loaded *l)
{
    config_report_free(&l->report);
    config_free(&l->c);
    assert_int_equal(mem_live(), 0);
}

/* The finding number ${i} must hold ${part}. */
static void
expect_note(const struct loaded *l, size_t i, bool is_error, const char *part)
{
    if (i >= l->report.count)
        fail_msg("no finding %zu: %s", i, part);
    if (strstr(l->report.notes[i].text, part) == NULL || l->report.notes[i].is_error != is_error)
        fail_msg("finding %zu is \"%s\", not \"%s\"", i, l->report.notes[i].text, part);
}

static void
test_defaults_are_pinned(void **state)
{
    struct config c;

    (void)state;
    assert_int_equal(config_init(&c), ERR_OK);
    assert_string_equal(c.server.bind_address, "127.0.0.1");
    assert_int_equal(c.server.port, 8086);
    assert_int_equal(c.server.max_body_size_bytes, 26214400);
    assert_int_equal(c.server.max_inflight_bytes, 67108864);
    assert_int_equal(c.server.max_connections, 256);
    assert_int_equal(c.server.request_timeout_secs, 30);
    assert_false(c.server.tls_enabled);
    assert_null(c.server.tls_cert_path);
    assert_null(c.server.tls_key_path);
    assert_null(c.server.tls_client_ca_path);
    assert_null(c.server.node_id);
    assert_null(c.server.user);
    assert_null(c.server.group);
    assert_string_equal(c.storage.data_dir, "./data");
    assert_int_equal(c.storage.max_size_mb, sizeof(size_t) < 8 ? 64 : 512);
    assert_int_equal(c.storage.on_full, CONFIG_REJECT);
    assert_int_equal(c.storage.keep_delivered_mb, 0);
    assert_int_equal(c.storage.max_age_secs, 0);
    assert_int_equal(c.storage.sync, CONFIG_SYNC_ALWAYS);
    assert_int_equal(c.storage.sync_interval_ms, 1000);
    assert_int_equal(c.storage.commit_delay_us, 0);
    assert_int_equal(c.storage.cursor_delay_ms, 1000);
    assert_null(c.storage.secrets_key_file);
    assert_false(c.sink.enabled);
    assert_int_equal(c.sink.default_batch_size, 1000);
    assert_int_equal(c.sink.default_flush_interval_secs, 10);
    assert_int_equal(c.sink.max_retries, 3);
    assert_int_equal(c.sink.backoff_base_secs, 1);
    assert_int_equal(c.sink.backoff_max_secs, 30);
    assert_int_equal(c.sink.dead_letter_max, 10000);
    assert_int_equal(c.sink.dead_letter_max_age_secs, 0);
    assert_int_equal(c.sink.allow_hosts.count, 0);
    assert_int_equal(c.sink.deny_hosts.count, 0);
    assert_null(c.sink.init_file);
    assert_int_equal(c.sink.max_lag_secs, 0);
    assert_false(c.auth.enabled);
    assert_false(c.auth.allow_query_param_credentials);
    assert_false(c.auth.metrics_require_auth);
    assert_int_equal(c.auth.pbkdf2_iterations, 210000);
    assert_int_equal(c.logging.level, LOG_INFO);
    assert_int_equal(c.logging.format, CONFIG_LOG_TEXT);
    assert_true(c.disk.enabled);
    assert_int_equal(c.disk.check_interval_secs, 60);
    assert_int_equal(c.disk.warn_threshold_mb, 64);
    assert_int_equal(c.disk.readonly_threshold_mb, 16);
    assert_false(c.rate_limit.enabled);
    assert_int_equal(c.rate_limit.max_requests_per_second, 0);
    assert_null(c.cluster.follow_url);
    assert_int_equal(c.cluster.follow_interval_secs, 60);
    assert_null(c.cluster.follow_password_file);
    config_free(&c);
    assert_int_equal(mem_live(), 0);
}

static void
test_the_file_then_the_environment(void **state)
{
    char *const environment[] = {
        (char[]){"PATH=/bin"},
        (char[]){"SINKD_URL=http://x"},
        (char[]){"SINKD__SERVER__PORT=9001"},
        (char[]){"SINKD__SINK__DENY_HOSTS=a.*, b"},
        (char[]){"SINKD__RATE_LIMIT__MAX_REQUESTS_PER_SECOND=0x10"},
        (char[]){"SINKD__STORAGE__DATA_DIR=/tmp/a \"b\""},
        (char[]){"SINKD__DISK__ENABLED=false"},
        (char[]){"SINKD__LOGGING__FORMAT=json"},
        NULL,
    };
    struct loaded l;

    (void)state;
    load(&l,
         "[server]\nport = 9000\nbind_address = '::'\nnode_id = \"gw-7\"\n"
         "[storage]\nsync = \"interval\"\non_full = \"drop_oldest\"\nmax_size_mb = 4\n"
         "[sink]\nenabled = true\nallow_hosts = [\"one\", \"two\"]\n[logging]\nlevel = 'debug'\n",
         environment);
    assert_int_equal(l.err, ERR_OK);
    assert_int_equal(l.report.count, 0);
    assert_string_equal(l.c.file, "sinkd.toml");
    assert_int_equal(l.c.server.port, 9001);
    assert_string_equal(l.c.server.bind_address, "::");
    assert_string_equal(l.c.server.node_id, "gw-7");
    assert_int_equal(l.c.storage.sync, CONFIG_SYNC_INTERVAL);
    assert_int_equal(l.c.storage.on_full, CONFIG_DROP_OLDEST);
    assert_int_equal(l.c.storage.max_size_mb, 4);
    assert_string_equal(l.c.storage.data_dir, "/tmp/a \"b\"");
    assert_true(l.c.sink.enabled);
    assert_int_equal(l.c.sink.allow_hosts.count, 2);
    assert_string_equal(l.c.sink.allow_hosts.items[1], "two");
    assert_int_equal(l.c.sink.deny_hosts.count, 2);
    assert_string_equal(l.c.sink.deny_hosts.items[1], "b");
    assert_int_equal(l.c.rate_limit.max_requests_per_second, 16);
    assert_false(l.c.disk.enabled);
    assert_int_equal(l.c.logging.format, CONFIG_LOG_JSON);
    assert_int_equal(l.c.logging.level, LOG_DEBUG);
    unload(&l);
}

static void
test_every_error_with_its_line(void **state)
{
    char *const environment[] = {
        (char[]){"SINKD__SERVER__PROT=1"},
        (char[]){"SINKD__SERVER__PORT=lots"},
        (char[]){"SINKD__AUTH__ENABLED=1"},
        (char[]){"SINKD__sink__enabled=true"},
        NULL,
    };
    struct loaded l;

    (void)state;
    load(&l,
         "port = 1\n" /* 1: before a section */
         "[server]\n"
         "prot = 1\n"            /* 3: unknown key */
         "port = \"8086\"\n"     /* 4: wrong type */
         "port = 1\n"            /* 5: repeated */
         "bind_address = 127\n"  /* 6: wrong type */
         "max_connections = 0\n" /* 7: below */
         "[serve]\n"             /* 8: unknown section */
         "x = 1\n"               /* 9: told by line 8 */
         "[sink]\n"
         "enabled = \"true\"\n"  /* 11: wrong type */
         "max_retries = 1.5\n"   /* 12: no value of TOML's */
         "allow_hosts = \"a\"\n" /* 13: wrong type */
         "deny_hosts = [\"\"]\n" /* 14: empty */
         "[storage]\n"
         "sync = \"sometimes\"\n" /* 16: not one of them */
         "data_dir = \"\"\n"      /* 17: empty */
         "[sink]\n",              /* 18: repeated */
         environment);
    assert_int_equal(l.err, ERR_CONFIG);
    expect_note(&l, 0, true, "sinkd.toml:1: key \"port\" stands before any [section]");
    expect_note(&l, 1, true, "sinkd.toml:3: unknown key \"prot\" in [server]");
    expect_note(&l, 2, true, "sinkd.toml:4: server.port: must be a whole number");
    expect_note(&l, 3, true, "sinkd.toml:5: server.port: is set in line 4 already");
    expect_note(&l, 4, true, "sinkd.toml:6: server.bind_address: must be a string");
    expect_note(&l, 5, true,
                "sinkd.toml:7: server.max_connections: 0 is below the smallest value, 1");
    expect_note(&l, 6, true, "sinkd.toml:8: unknown section [serve]");
    expect_note(&l, 7, true, "sinkd.toml:11: sink.enabled: must be true or false");
    expect_note(&l, 8, true, "sinkd.toml:12: sink.max_retries: not a value");
    expect_note(&l, 9, true, "sinkd.toml:13: sink.allow_hosts: must be an array");
    expect_note(&l, 10, true, "sinkd.toml:14: sink.deny_hosts: holds an empty string");
    expect_note(&l, 11, true,
                "sinkd.toml:16: storage.sync: must be one of: \"always\" \"interval\" \"none\"");
    expect_note(&l, 12, true, "sinkd.toml:17: storage.data_dir: must not be empty");
    expect_note(&l, 13, true, "sinkd.toml:18: section [sink] stands in line 10 already");
    expect_note(&l, 14, true, "SINKD__SERVER__PROT: unknown variable");
    expect_note(&l, 15, true, "SINKD__SERVER__PORT: must be a whole number");
    expect_note(&l, 16, true, "SINKD__AUTH__ENABLED: must be true or false");
    expect_note(&l, 17, true, "SINKD__sink__enabled: unknown variable");
    assert_int_equal(l.report.count, 18);
    assert_int_equal(l.report.errors, 18);
    unload(&l);
}

static void
test_the_list_of_errors_is_bounded(void **state)
{
    char text[4096] = "[server]\n";
    struct loaded l;

    (void)state;
    for (int i = 0; i < 2 * CONFIG_NOTES; i++)
        strcat(text, "prot = 1\n");
    load(&l, text, NULL);
    assert_int_equal(l.err, ERR_CONFIG);
    assert_int_equal(l.report.count, CONFIG_NOTES);
    assert_int_equal(l.report.errors, 2 * CONFIG_NOTES);
    unload(&l);
}

static void
test_reversed_pairs_are_swapped(void **state)
{
    struct loaded l;

    (void)state;
    load(&l,
         "[sink]\nbackoff_base_secs = 60\n"
         "[disk]\nwarn_threshold_mb = 5\nreadonly_threshold_mb = 9\n",
         NULL);
    assert_int_equal(l.err, ERR_OK);
    assert_int_equal(l.report.warnings, 2);
    expect_note(&l, 0, false, "sinkd.toml:2: sink.backoff_base_secs: is larger");
    expect_note(&l, 1, false, "sinkd.toml:5: disk.readonly_threshold_mb: is larger");
    assert_int_equal(l.c.sink.backoff_base_secs, 30);
    assert_int_equal(l.c.sink.backoff_max_secs, 60);
    assert_int_equal(l.c.disk.warn_threshold_mb, 9);
    assert_int_equal(l.c.disk.readonly_threshold_mb, 5);
    unload(&l);
}

/* One file each: what it says, what the finding holds, whether it is an error. */
static void
test_rules_between_keys(void **state)
{
    static const struct {
        const char *text, *note;
        bool is_error;
    } rows[] = {
        {"[server]\nbind_address = \"localhost\"\n", "numeric address", true},
        {"[server]\nbind_address = \"1.2.3\"\n", "numeric address", true},
        {"[server]\nnode_id = \"a b\"\n", "without blanks", true},
        {"[server]\ntls_client_ca_path = \"ca\"\n", "needs tls_enabled", true},
        {"[server]\ntls_cert_path = \"cert\"\n", "has no effect", false},
        {"[auth]\nmetrics_require_auth = true\n", "needs [auth] enabled", true},
        {"[rate_limit]\nenabled = true\n", "has no effect", false},
        {"[cluster]\nfollow_url = \"hub\"\n", "this build of sinkd has no", true},
        {"[storage]\nsecrets_key_file = \"k\"\n", "this build of sinkd has no", true},
        {"[auth]\nenabled = true\n", "this build of sinkd has no", true},
        {"[server]\ntls_enabled = true\n", "this build of sinkd has no TLS", true},
    };
    struct loaded l;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        load(&l, rows[i].text, NULL);
        assert_int_equal(l.err, rows[i].is_error ? ERR_CONFIG : ERR_OK);
        expect_note(&l, 0, rows[i].is_error, rows[i].note);
        expect_note(&l, 0, rows[i].is_error, "sinkd.toml:2: ");
        unload(&l);
    }
}

static void
test_off_is_no_error_for_a_missing_part(void **state)
{
    struct loaded l;

    (void)state;
    load(&l,
         "[server]\ntls_enabled = false\nbind_address = \"fe80::1%eth0\"\nuser = \"\"\n"
         "[auth]\nenabled = false\n[cluster]\nfollow_url = \"\"\nfollow_interval_secs = 5\n",
         NULL);
    assert_int_equal(l.err, ERR_OK);
    assert_int_equal(l.report.count, 0);
    assert_true(strlen(l.c.server.node_id) > 0); /* the host name */
    unload(&l);
}

static enum err
set_number(struct config *c, const struct config_key *k, int64_t n, char note[CONFIG_SET_NOTE])
{
    struct toml_value v = {.type = TOML_INTEGER, .integer = n};

    return config_set_value(c, k, &v, note);
}

static void
test_every_number_has_both_limits(void **state)
{
    size_t count, numbers = 0;
    const struct config_key *all = config_keys_all(&count);
    struct config c;
    char note[CONFIG_SET_NOTE], limit[32];

    (void)state;
    assert_int_equal(config_init(&c), ERR_OK);
    for (size_t i = 0; i < count; i++) {
        if (all[i].type != CONFIG_INTEGER)
            continue;
        numbers++;
        assert_true(all[i].min <= all[i].number && all[i].number <= all[i].max);
        assert_int_equal(set_number(&c, &all[i], all[i].min, note), ERR_OK);
        assert_int_equal(set_number(&c, &all[i], all[i].max, note), ERR_OK);
        assert_int_equal(set_number(&c, &all[i], all[i].min - 1, note), ERR_CONFIG);
        (void)snprintf(limit, sizeof(limit), "%lld", (long long)all[i].min);
        assert_non_null(strstr(note, limit));
        assert_int_equal(set_number(&c, &all[i], all[i].max + 1, note), ERR_CONFIG);
        (void)snprintf(limit, sizeof(limit), "%lld", (long long)all[i].max);
        assert_non_null(strstr(note, limit));
    }
    assert_true(numbers > 20);
    config_free(&c);
}

static void
test_more_than_the_machine_addresses_is_capped(void **state)
{
    struct config_key k = *config_keys_find(SLICE("storage"), SLICE("max_size_mb"));
    struct config c;
    char note[CONFIG_SET_NOTE];

    (void)state;
    assert_int_equal(config_init(&c), ERR_OK);
    k.cap = 2000;
    assert_int_equal(set_number(&c, &k, 2000, note), ERR_OK);
    assert_string_equal(note, "");
    assert_int_equal(set_number(&c, &k, 5000, note), ERR_OK);
    assert_non_null(strstr(note, "2000 is used"));
    assert_int_equal(c.storage.max_size_mb, 2000);
    config_free(&c);
}

static void
test_every_key_refuses_other_types(void **state)
{
    static const struct toml_value values[] = {
        {.type = TOML_STRING, .text = SLICE_INIT("x")},
        {.type = TOML_INTEGER, .integer = 1},
        {.type = TOML_BOOLEAN, .boolean = true},
        {.type = TOML_STRINGS, .text = SLICE_INIT("x\0"), .count = 1},
    };
    size_t count;
    const struct config_key *all = config_keys_all(&count);
    struct config c;
    char note[CONFIG_SET_NOTE];

    (void)state;
    assert_int_equal(config_init(&c), ERR_OK);
    for (size_t i = 0; i < count; i++) {
        size_t refused = 0;

        for (size_t t = 0; t < 4; t++)
            refused += config_set_value(&c, &all[i], &values[t], note) == ERR_CONFIG &&
                       strstr(note, "must be") != NULL;
        assert_true(refused >= 3);
    }
    config_free(&c);
    assert_int_equal(mem_live(), 0);
}

static void
test_files_that_cannot_be_read(void **state)
{
    struct loaded l;

    (void)state;
    assert_int_equal(config_load(&l.c, "missing.toml", NULL, &l.report), ERR_CONFIG);
    expect_note(&l, 0, true, "missing.toml: cannot be read: ");
    unload(&l);
    assert_int_equal(config_load(&l.c, folder, NULL, &l.report), ERR_CONFIG);
    expect_note(&l, 0, true, "cannot be read: ");
    unload(&l);
}

static void
test_the_file_of_the_working_directory(void **state)
{
    struct loaded l;

    (void)state;
    load(&l, "[server]\nport = 7\n", NULL);
    unload(&l);
    assert_int_equal(config_load(&l.c, NULL, NULL, &l.report), ERR_OK);
    assert_int_equal(l.c.server.port, 7);
    assert_string_equal(l.c.file, "./sinkd.toml");
    unload(&l);
}

static void
test_no_memory(void **state)
{
    char *const environment[] = {(char[]){"SINKD__SINK__DENY_HOSTS=a,b"}, NULL};
    struct loaded l;
    size_t n = 0;

    (void)state;
    load(&l, "[sink]\nallow_hosts = ['a', 'b']\ninit_file = 'x'\n[disk]\nnope = 1\n", NULL);
    unload(&l);
    do {
        assert_true(++n < 100);
        mem_fail_at(n);
        l.err = config_load(&l.c, "sinkd.toml", environment, &l.report);
        mem_fail_at(0);
        assert_true(l.err == ERR_NOMEM || l.err == ERR_CONFIG);
        assert_true(l.err == ERR_NOMEM || l.report.errors > 0);
        if (l.err == ERR_CONFIG && l.report.count == 1 &&
            strstr(l.report.notes[0].text, "nope") != NULL)
            l.err = ERR_OK; /* all went through */
        config_report_free(&l.report);
        config_free(&l.c);
        assert_int_equal(mem_live(), 0);
    } while (l.err != ERR_OK);
    assert_true(n > 8);
}

static int
set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int
tear_down(void **state)
{
    (void)state;
    (void)unlink("sinkd.toml");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_pinned),
        cmocka_unit_test(test_the_file_then_the_environment),
        cmocka_unit_test(test_every_error_with_its_line),
        cmocka_unit_test(test_the_list_of_errors_is_bounded),
        cmocka_unit_test(test_reversed_pairs_are_swapped),
        cmocka_unit_test(test_rules_between_keys),
        cmocka_unit_test(test_off_is_no_error_for_a_missing_part),
        cmocka_unit_test(test_every_number_has_both_limits),
        cmocka_unit_test(test_more_than_the_machine_addresses_is_capped),
        cmocka_unit_test(test_every_key_refuses_other_types),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_the_file_of_the_working_directory),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("config", tests, set_up, tear_down);
}
