/* base/checked: values at a limit and beyond it. */
#include "base/checked.h"
#include "tests/test.h"

static void sums_and_products(void **state)
{
    uint64_t v;

    (void)state;
    assert_true(checked_add(UINT64_MAX - 1, 1, &v) && v == UINT64_MAX);
    assert_false(checked_add(UINT64_MAX, 1, &v));
    assert_true(checked_mul(UINT64_MAX / 3, 3, &v) && v == UINT64_MAX);
    assert_false(checked_mul(UINT64_MAX / 3 + 1, 3, &v));
    assert_true(checked_mul(0, UINT64_MAX, &v) && v == 0);
}

static void parts_of_a_file(void **state)
{
    (void)state;
    assert_true(checked_within(0, 10, 10));
    assert_true(checked_within(10, 0, 10));
    assert_false(checked_within(11, 0, 10));
    assert_false(checked_within(1, 10, 10));
    assert_false(checked_within(1, UINT64_MAX, 10)); /* the sum is 0 */
    assert_false(checked_within(UINT64_MAX, 2, 10));
    assert_true(checked_items(3, 4, 12));
    assert_false(checked_items(3, 4, 11));
    assert_false(checked_items((uint64_t)1 << 62, 4, 12)); /* the product is 0 */
}

static void arrays(void **state)
{
    const int64_t large[] = {0, (int64_t)1 << 40, (int64_t)1 << 40};
    const int64_t negative[] = {0, -1}, good[] = {2, 0, 3}, largest[] = {INT64_MAX, 2};
    uint64_t v;

    (void)state;
    assert_true(checked_array(NULL, 0, 4, &v) && v == 4);
    assert_true(checked_array(good, 1, 4, &v) && v == 8);
    assert_true(checked_array(good, 3, 4, &v) && v == 0);
    assert_true(checked_array(largest, 2, 1, &v) && v == UINT64_MAX - 1);
    assert_false(checked_array(largest, 2, 2, &v));
    assert_false(checked_array(negative, 2, 4, &v));
    assert_false(checked_array(large, 3, 1, &v)); /* strides would overflow */
}

static void numbers(void **state)
{
    static const char *const bad[] = {
        "", " 1", "+1", "-1", "x", "18446744073709551616", "99999999999999999999999"};
    const char *text = "18446744073709551615,7";
    uint64_t v;

    (void)state;
    assert_true(checked_number(&text, UINT64_MAX, &v) && v == UINT64_MAX);
    assert_string_equal(text, ",7");
    text = "00256";
    assert_false(checked_number(&text, 255, &v));
    assert_string_equal(text, "00256"); /* unchanged */
    assert_true(checked_number(&text, 256, &v) && v == 256 && !*text);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        text = bad[i];
        assert_false(checked_number(&text, UINT64_MAX, &v));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(parts_of_a_file),
        cmocka_unit_test(arrays),
        cmocka_unit_test(numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
