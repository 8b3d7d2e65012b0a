/*
 * test_base_secret.c: secrets are copied and wiped, and taken out of texts in every form they have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "base/secret.h"

static void
set_copy_free(void **state)
{
    struct secret a = {0}, b = {0};
    size_t before = mem_live();

    (void)state;
    assert_false(secret_is_set(&a));
    assert_int_equal(secret_set(&a, SLICE("one")), ERR_OK);
    assert_int_equal(secret_set(&a, SLICE("three")), ERR_OK);
    assert_int_equal(secret_copy(&b, &a), ERR_OK);
    assert_true(slice_eq(secret_reveal(&b), SLICE("three")));
    assert_true(secret_reveal(&b).p != secret_reveal(&a).p);
    assert_int_equal(secret_set(&a, slice_from(secret_reveal(&a), 2)), ERR_OK); /* of its own */
    assert_true(slice_eq(secret_reveal(&a), SLICE("ree")));
    secret_free(&a);
    assert_false(secret_is_set(&a));
    assert_int_equal(secret_copy(&b, &a), ERR_OK);
    assert_false(secret_is_set(&b));
    assert_int_equal(secret_set(&a, SLICE("")), ERR_OK);
    assert_true(secret_is_set(&a)); /* empty is not unset */
    secret_free(&a);
    secret_free(&a);
    assert_int_equal(mem_live(), before);
}

static void
without_memory_the_old_value_stays(void **state)
{
    struct secret a = {0}, b = {0};

    (void)state;
    assert_int_equal(secret_set(&a, SLICE("one")), ERR_OK);
    mem_fail_at(1);
    assert_int_equal(secret_set(&a, SLICE("two")), ERR_NOMEM);
    mem_fail_at(1);
    assert_int_equal(secret_copy(&b, &a), ERR_NOMEM);
    mem_fail_at(0);
    assert_true(secret_equal(&a, SLICE("one")));
    assert_false(secret_is_set(&b));
    secret_free(&a);
}

static void
equality(void **state)
{
    struct secret a = {0};

    (void)state;
    assert_false(secret_equal(&a, SLICE("")));
    assert_int_equal(secret_set(&a, SLICE("secret")), ERR_OK);
    assert_true(secret_equal(&a, SLICE("secret")));
    assert_false(secret_equal(&a, SLICE("secreT")));
    assert_false(secret_equal(&a, SLICE("Secret")));
    assert_false(secret_equal(&a, SLICE("secre")));
    assert_false(secret_equal(&a, SLICE("secrets")));
    secret_free(&a);
}

static void
check_mask(const char *secret, const char *text, const char *expected)
{
    struct secret s = {0}, unset = {0};
    const struct secret *const all[] = {NULL, &unset, &s};
    struct buf b;

    assert_int_equal(secret_set(&s, slice_of(secret)), ERR_OK);
    buf_init(&b, 1000);
    assert_int_equal(buf_add_text(&b, text), ERR_OK);
    assert_int_equal(secret_mask(&b, all, 3), ERR_OK);
    assert_int_equal(buf_len(&b), strlen(expected));
    assert_true(slice_eq(buf_peek(&b), slice_of(expected)));
    assert_int_equal(b.max, 1000);
    buf_free(&b);
    secret_free(&s);
}

static void
masks_every_form(void **state)
{
    (void)state;
    check_mask("p@ss/w\xc3\xb6rd", "user u p@ss/w\xc3\xb6rd: no", "user u ****: no");
    check_mask("p@ss/w\xc3\xb6rd", "u:p%40ss%2Fw%C3%B6rd@h", "u:****@h");
    check_mask("p@ss/w\xc3\xb6rd", "u:p%40ss%2fw%c3%b6rd@h", "u:****@h");
    check_mask("p@ss/w\xc3\xb6rd", "u:p%40ss/w%c3%b6%72d@h", "u:****@h"); /* partly encoded */
    check_mask("p@ss/w\xc3\xb6rd", "u:cEBzcy93w7ZyZA==.", "u:****==.");
    check_mask("p@ss/w\xc3\xb6rd", "u:cEBzcy93w7ZyZA.", "u:****.");
    check_mask("a\"b\\c", "{\"m\":\"a\\\"b\\\\c\"}", "{\"m\":\"****\"}");
    check_mask("a b c", "q=a+b%20c&", "q=****&");
    check_mask("a>>?>>b", "x YT4-Pz4-Yg y", "x **** y"); /* the URL's alphabet of base64 */
    check_mask("a\"b\"", "say a\\\"b\\\"", "say ****");
    check_mask("a)b", "a%29b", "****");
    check_mask("a>>?>>b", "x YT4-Pz4-Yy y", "x YT4-Pz4-Yy y");
    check_mask("a>>?>>b", "x YT4xPz4xYg y", "x YT4xPz4xYg y");
    check_mask("a??", "YT8_ YT8/ YTw/ YT8x", "**** **** YTw/ YT8x");
    check_mask("100%", "at 100% and 100%25", "at **** and ****");
}

static void
masks_all_occurrences_and_nothing_else(void **state)
{
    (void)state;
    check_mask("abc", "abcabcab-abc", "********ab-****");
    check_mask("aab", "aaab", "a****");
    check_mask("abc", "abd %61bd", "abd %61bd");
    check_mask("abc", "", "");
    check_mask("ab", "ab ab", "ab ab"); /* too short to be told from any text */
    check_mask("", "x", "x");
}

static void
masks_the_first_part_at_a_cut(void **state)
{
    (void)state;
    check_mask("hunter2hunter2", "login hunt", "login ****");
    check_mask("hunter2hunter2", "login hun%74", "login ****");
    check_mask("hunter2hunter2", "login hun", "login ****");
    check_mask("hunter2hunter2", "login hu", "login hu");
    check_mask("hunter2hunter2", "hunt login", "hunt login");
    check_mask("hunter2hunter2", "login aHVudGVyMmh1", "login ****");
}

static void
several_secrets(void **state)
{
    struct secret a = {0}, b = {0};
    const struct secret *const all[] = {&a, &b};
    struct buf text;

    (void)state;
    assert_int_equal(secret_set(&a, SLICE("alpha")), ERR_OK);
    assert_int_equal(secret_set(&b, SLICE("beta")), ERR_OK);
    buf_init(&text, 100);
    assert_int_equal(buf_add_text(&text, "beta alpha beta"), ERR_OK);
    assert_int_equal(secret_mask(&text, all, 2), ERR_OK);
    assert_true(slice_eq(buf_peek(&text), SLICE("**** **** ****")));
    buf_free(&text);
    secret_free(&a);
    secret_free(&b);
}

static void
a_text_that_cannot_be_masked_is_emptied(void **state)
{
    struct secret s = {0};
    const struct secret *const all[] = {&s};
    size_t before = mem_live();
    enum err err = ERR_NOMEM;

    (void)state;
    assert_int_equal(secret_set(&s, SLICE("abc")), ERR_OK);
    for (size_t n = 1; err != ERR_OK; n++) {
        struct buf text;
        buf_init(&text, 100);
        assert_int_equal(buf_add_text(&text, "-abc-"), ERR_OK);
        mem_fail_at(n);
        err = secret_mask(&text, all, 1);
        mem_fail_at(0);
        assert_true(err == ERR_OK || (err == ERR_NOMEM && buf_len(&text) == 0));
        buf_free(&text);
    }

    struct buf tight;
    buf_init(&tight, 3); /* the mask is longer than the secret */
    assert_int_equal(buf_add_text(&tight, "abc"), ERR_OK);
    assert_int_equal(secret_mask(&tight, all, 1), ERR_NOMEM);
    assert_int_equal(buf_len(&tight), 0);
    buf_free(&tight);
    secret_free(&s);
    assert_int_equal(mem_live(), before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_copy_free),
        cmocka_unit_test(without_memory_the_old_value_stays),
        cmocka_unit_test(equality),
        cmocka_unit_test(masks_every_form),
        cmocka_unit_test(masks_all_occurrences_and_nothing_else),
        cmocka_unit_test(masks_the_first_part_at_a_cut),
        cmocka_unit_test(several_secrets),
        cmocka_unit_test(a_text_that_cannot_be_masked_is_emptied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
