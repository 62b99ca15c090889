/* The names of ImageNet's classes. */

#include "models/imagenet_names.h"
#include "models/imagenet_synsets.h"
#include "tests/test.h"

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(imagenet_names[0], "tench");
    assert_string_equal(imagenet_names[281], "tabby");
    assert_string_equal(imagenet_names[999], "toilet tissue");
    for (int i = 0; i < IMAGENET_1K; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(imagenet_names[i], imagenet_names[j]);
}

/* Checks some lines of timm's lists, and their order. */
static void test_synsets(void **state)
{
    static const struct {
        int classes, class_index, id;
    } row[] = {
        {IMAGENET_21K, 0, 4475},         {IMAGENET_21K, 9205, 3931044},
        {IMAGENET_21K, 15027, 9859684},  {IMAGENET_21K, 21842, 15102894},
        {IMAGENET_22K, 0, 4475},         {IMAGENET_22K, 9205, 3931765},
        {IMAGENET_22K, 21840, 15102894}, {IMAGENET_12K, 0, 5787},
        {IMAGENET_12K, 11820, 15102894},
    };
    static int32_t id[IMAGENET_21K];

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        assert_int_equal(imagenet_synsets(row[i].classes, id), row[i].classes);
        assert_int_equal(id[row[i].class_index], row[i].id);
        for (int c = 1; c < row[i].classes; c++)
            assert_true(id[c] > id[c - 1]);
    }
    assert_int_equal(imagenet_synsets(IMAGENET_1K, id), 0);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_synsets),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
