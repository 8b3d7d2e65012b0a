/*
 * test_base_port.c: random bytes differ, plain file systems pass, hardening holds in a child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/port.h"

static void
random_bytes_differ(void **state)
{
    uint8_t a[300], b[300];

    (void)state;
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    assert_int_equal(port_random(a, sizeof(a)), ERR_OK);
    assert_int_equal(port_random(b, sizeof(b)), ERR_OK);
    assert_memory_not_equal(a, b, sizeof(a));
    assert_memory_not_equal(a, a + 150, 150);
    assert_memory_not_equal(a + 280, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
    assert_int_equal(port_random(a, 0), ERR_OK);
}

static void
unknown_folders_are_not_refused(void **state)
{
    const char *name = "untouched";

    (void)state;
    assert_false(port_is_network_fs("/nonexistent/folder", &name));
    assert_string_equal(name, "untouched");
    assert_false(port_is_network_fs("/proc", &name)); /* local on every Linux; absent elsewhere */
}

static void
no_image_is_left_behind(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {1, 1};
        port_no_core_dumps();
        _exit(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
socket_options_are_taken_or_passed_over(void **state)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    assert_true(fd >= 0);
    port_tcp_user_timeout(fd, 5000);
    port_quick_ack(fd);
    port_tcp_user_timeout(-1, 5000); /* errors are of no interest */
    port_quick_ack(-1);
    (void)close(fd);
}

static void
only_root_drops_groups(void **state)
{
    pid_t child = fork();
    int status = 0;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        enum err err = port_set_groups_none();
        _exit(err == ERR_OK ? (getgroups(0, NULL) == 0 ? 0 : 1) : (geteuid() != 0 ? 0 : 2));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    /* Root in a container may lack the right: 2 is honest as well, a silent failure (1) is not. */
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bytes_differ),
        cmocka_unit_test(unknown_folders_are_not_refused),
        cmocka_unit_test(no_image_is_left_behind),
        cmocka_unit_test(socket_options_are_taken_or_passed_over),
        cmocka_unit_test(only_root_drops_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
