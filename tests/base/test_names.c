/* Names of table rows: lookup, lists, and the message for an unknown name. */
#include <string.h>

#include "base/names.h"
#include "tests/test.h"

static const struct named rows[] = {
    {.name = "alpha", .reads = (const char *const[]){"A", "B", NULL}},
    {.name = "beta"},
    {.name = "gamma:N", .pattern = true},
    {.name = "old", .refuse = "is gone: take beta"},
    {0},
};

static struct named row_at(const void *table, int i)
{
    return ((const struct named *)table)[i];
}

static const struct names exact = {.entry = row_at, .table = rows};
static const struct names loose = {
    .entry = row_at, .table = rows, .any_case = true, .empty = true};

static bool is_gamma(const char *text)
{
    return !strncmp(text, "gamma:", 6);
}

static const struct names more = {.entry = row_at, .table = rows, .more = is_gamma};

static void check_known(const struct names *names, const char *name, const char *want)
{
    struct strbuf why = STRBUF_INIT;

    assert_true(names_known(names, name, &why) == !want);
    assert_string_equal(why.len ? why.buf : "", want ? want : "");
    strbuf_release(&why);
}

static void test_known(void **state)
{
    (void)state;
    check_known(&exact, "alpha", NULL);
    check_known(&loose, "Beta", NULL);
    check_known(&loose, "", NULL);
    check_known(&exact, "old", "old is gone: take beta");
    check_known(&exact, "Beta",
                "must be one of alpha, beta, gamma:N, not 'Beta' (did you mean beta?)");
    check_known(&exact, "", "must be one of alpha, beta, gamma:N, not ''");
    check_known(&more, "gamma:1", NULL);
    check_known(&exact, "gamma:N", "must be one of alpha, beta, gamma:N, not 'gamma:N'");
    check_known(&loose, "gamma",
                "must be empty or one of alpha, beta, gamma:N, not 'gamma'");
    check_known(&exact, "ild", "must be one of alpha, beta, gamma:N, not 'ild'");
}

static void test_find(void **state)
{
    struct strbuf s = STRBUF_INIT;

    (void)state;
    assert_int_equal(names_find(&exact, "beta"), 1);
    assert_int_equal(names_find(&exact, "BETA"), -1);
    assert_int_equal(names_find(&loose, "BETA"), 1);
    assert_int_equal(names_find(&exact, ""), -1);
    names_add(&s, &exact);
    assert_string_equal(s.buf, "alpha, beta, gamma:N");
    assert_true(named_reads(&rows[0], "B"));
    assert_false(named_reads(&rows[0], "C"));
    assert_false(named_reads(&rows[1], "A"));
    strbuf_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
