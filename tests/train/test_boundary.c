/*
 * Boundary IoU against the authors' code, and the scores of a confusion matrix against
 * mmsegmentation's formulas (scripts/golden/boundary.py).
 */
#include "train/boundary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/json.h"
#include "tests/test.h"
#include "train/segmentation.h"

static uint8_t *bytes_of(const json_t *image, const char *key, int64_t n)
{
    const char *hex = json_string_value(json_object_get(image, key));
    uint8_t *dst = xmalloc((size_t)n);

    assert_int_equal(strlen(hex), 2 * n);
    for (int64_t i = 0; i < n; i++) {
        char two[] = {hex[2 * i], hex[2 * i + 1], '\0'};

        dst[i] = (uint8_t)strtol(two, NULL, 16);
    }
    return dst;
}

static void check(const char *what, double got, const json_t *want)
{
    bool known = json_is_number(want);

    if (known ? !(fabs(got - json_number_value(want)) <= 1e-12) : !isnan(got))
        fail_msg("%s: %.15g, not %.15g", what, got,
                 known ? json_number_value(want) : NAN);
}

static void add_image(const json_t *image, struct boundary *b, int64_t *matrix)
{
    int w = (int)json_integer_value(json_object_get(image, "w"));
    int h = (int)json_integer_value(json_object_get(image, "h"));
    int64_t n = (int64_t)w * h;
    uint8_t *label = bytes_of(image, "label", n), *guess = bytes_of(image, "guess", n);

    boundary_add(b, label, guess, w, h);
    for (int64_t i = 0; i < n; i++)
        if (label[i] != LABEL_IGNORE)
            matrix[label[i] * b->classes + guess[i]]++;
    free(label);
    free(guess);
}

/* True if a class is predicted that no label has: mmsegmentation counts its IoU of 0 in the
 * means, and trainc leaves it out. */
static bool has_stray_class(const json_t *mmseg, int classes)
{
    for (size_t k = 0; k < (size_t)classes; k++)
        if (!json_is_number(json_array_get(json_object_get(mmseg, "Acc"), k)) &&
            json_is_number(json_array_get(json_object_get(mmseg, "IoU"), k)))
            return true;
    return false;
}

static void check_scores(const struct segmentation *s, const json_t *want)
{
    const json_t *acc = json_object_get(want, "Acc");

    check("acc", s->acc, json_object_get(want, "aAcc"));
    check("class_acc", s->class_acc, json_object_get(want, "mAcc"));
    for (int k = 0; k < s->classes; k++) {
        check("acc of a class", s->class_result[k].acc, json_array_get(acc, (size_t)k));
        if (!json_is_number(json_array_get(acc, (size_t)k)))
            continue;
        check("iou", s->class_result[k].iou,
              json_array_get(json_object_get(want, "IoU"), (size_t)k));
        check("dice", s->class_result[k].dice,
              json_array_get(json_object_get(want, "Dice"), (size_t)k));
    }
    if (has_stray_class(want, s->classes))
        return;
    check("miou", s->miou, json_object_get(want, "mIoU"));
    check("mdice", s->mdice, json_object_get(want, "mDice"));
    check("mdice as mFscore", s->mdice, json_object_get(want, "mFscore"));
}

static void check_case(const json_t *c)
{
    int classes = (int)json_integer_value(json_object_get(c, "classes"));
    struct boundary *b =
        boundary_new(json_number_value(json_object_get(c, "ratio")), classes);
    int64_t *matrix = xcalloc((size_t)classes * (size_t)classes, sizeof(*matrix));
    struct segmentation *s = xmalloc(sizeof(*s));
    size_t i;
    json_t *image;

    print_message("%s\n", json_string_value(json_object_get(c, "name")));
    json_array_foreach(json_object_get(c, "images"), i, image)
        add_image(image, b, matrix);
    segmentation_init(s, matrix, classes);
    segmentation_set_boundary(s, b);
    for (int k = 0; k < classes; k++)
        check("boundary", s->class_result[k].boundary,
              json_array_get(json_object_get(c, "boundary"), (size_t)k));
    check_scores(s, json_object_get(c, "mmseg"));
    boundary_free(b);
    free(matrix);
    free(s);
}

static void test_golden(void **state)
{
    json_t *all = json_load_file("tests/golden/train/boundary.json", 0, NULL), *c;
    size_t i;

    (void)state;
    assert_true(json_array_size(all) > 8);
    json_array_foreach(all, i, c) check_case(c);
    json_decref(all);
}

/* The mean is over the classes with a border in the labels; NaN without one. */
static void test_mean(void **state)
{
    struct segmentation *s = xcalloc(1, sizeof(*s));
    struct boundary *b = boundary_new(0.02, 3);
    const uint8_t label[] = {0, 0, 1, 1}, guess[] = {0, 0, 1, 0};

    (void)state;
    segmentation_init(s, (const int64_t[]){2, 0, 0, 1, 1, 0, 0, 0, 0}, 3);
    assert_true(isnan(s->boundary));
    segmentation_set_boundary(s, b);
    assert_true(isnan(s->boundary));
    boundary_add(b, label, guess, 4, 1);
    segmentation_set_boundary(s, b);
    assert_true(fabs(s->boundary - (2.0 / 3 + 1.0 / 2) / 2) < 1e-12);
    boundary_free(b);
    free(s);
}

static void test_width(void **state)
{
    (void)state;
    assert_int_equal(boundary_width(0.02, 1, 1), 1);
    assert_int_equal(boundary_width(0.02, 300, 400), 10);
    assert_int_equal(boundary_width(0.02, 2048, 1024), 46);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_width),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
