/*
 * test_daemon_mailbox.c: what other threads hand to the loop's thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include <cmocka.h>

#include "base/mem.h"
#include "daemon/mailbox.h"

#define MAILS 200

struct letter {
    struct mail mail;
    unsigned number, sender;
    struct mailbox *again; /* posts itself once more */
};

static unsigned order[3][MAILS], came[3];

static void
take(struct mail *m)
{
    struct letter *l = (struct letter *)(void *)m; /* its first member */
    struct mailbox *again = l->again;

    order[l->sender][came[l->sender]++] = l->number;
    l->again = NULL;
    if (again != NULL)
        mailbox_post(again, m);
}

static void
forget(void)
{
    came[0] = came[1] = came[2] = 0;
}

static struct loop *
open_both(struct mailbox **m)
{
    struct loop *loop = loop_open(&clock_system);

    assert_non_null(loop);
    assert_int_equal(mailbox_open(m, loop, NULL), ERR_OK);
    forget();
    return loop;
}

static void
close_both(struct mailbox *m, struct loop *loop)
{
    mailbox_close(m);
    loop_close(loop);
    assert_int_equal(mem_live(), 0);
}

static void
mails_come_in_their_order_on_the_loop(void **state)
{
    struct mailbox *m;
    struct loop *loop = open_both(&m);
    struct letter letters[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        letters[i] = (struct letter){.mail = {.call = take}, .number = i};
        mailbox_post(m, &letters[i].mail);
    }
    assert_int_equal(came[0], 0);
    loop_turn(loop, clock_mono_ms(&clock_system) + 5000);
    assert_int_equal(came[0], 5);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(order[0][i], i);
    close_both(m, loop);
}

static void
a_call_may_post_again(void **state)
{
    struct mailbox *m;
    struct loop *loop = open_both(&m);
    struct letter l = {.mail = {.call = take}, .again = m};

    (void)state;
    mailbox_post(m, &l.mail);
    loop_turn(loop, clock_mono_ms(&clock_system) + 5000);
    assert_int_equal(came[0], 1); /* not in the same turn: others are to have theirs */
    loop_turn(loop, clock_mono_ms(&clock_system) + 5000);
    assert_int_equal(came[0], 2);
    assert_false(mailbox_deliver(m));
    l.again = m;
    mailbox_post(m, &l.mail);
    assert_true(mailbox_deliver(m));
    assert_true(mailbox_deliver(m));
    assert_false(mailbox_deliver(m));
    close_both(m, loop);
}

static void
closing_delivers_what_is_there(void **state)
{
    struct mailbox *m;
    struct loop *loop = open_both(&m);
    struct letter l = {.mail = {.call = take}};

    (void)state;
    mailbox_post(m, &l.mail);
    close_both(m, loop);
    assert_int_equal(came[0], 1);
    mailbox_close(NULL);
}

struct sender {
    struct mailbox *m;
    struct letter letters[MAILS];
};

static void *
send_all(void *arg)
{
    struct sender *s = arg;

    for (unsigned i = 0; i < MAILS; i++)
        mailbox_post(s->m, &s->letters[i].mail);
    return NULL;
}

static void
many_threads_post_at_once(void **state)
{
    static struct sender senders[3];
    struct mailbox *m;
    struct loop *loop = open_both(&m);
    pthread_t threads[3];

    (void)state;
    for (unsigned t = 0; t < 3; t++) {
        senders[t].m = m;
        for (unsigned i = 0; i < MAILS; i++)
            senders[t].letters[i] =
                (struct letter){.mail = {.call = take}, .number = i, .sender = t};
        assert_int_equal(pthread_create(&threads[t], NULL, send_all, &senders[t]), 0);
    }
    while (came[0] + came[1] + came[2] < 3 * MAILS)
        loop_turn(loop, clock_mono_ms(&clock_system) + 1000);
    for (unsigned t = 0; t < 3; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (unsigned i = 0; i < MAILS; i++)
            assert_int_equal(order[t][i], i);
    }
    close_both(m, loop);
}

static void
memory_runs_out_cleanly(void **state)
{
    struct loop *loop = loop_open(&clock_system);

    (void)state;
    for (size_t n = 1;; n++) {
        struct mailbox *m;
        struct errinfo info;
        enum err err;

        assert_in_range(n, 1, 10);
        mem_fail_at(n);
        err = mailbox_open(&m, loop, &info);
        mem_fail_at(0);
        if (err == ERR_OK) {
            mailbox_close(m);
            break;
        }
        assert_int_equal(err, ERR_NOMEM);
    }
    loop_close(loop);
    assert_int_equal(mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mails_come_in_their_order_on_the_loop),
        cmocka_unit_test(a_call_may_post_again),
        cmocka_unit_test(closing_delivers_what_is_there),
        cmocka_unit_test(many_threads_post_at_once),
        cmocka_unit_test(memory_runs_out_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
