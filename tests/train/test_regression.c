/* Scores of numbers and of ordered classes compared with scikit-learn's:
 * scripts/golden/regression.py. */
#include "train/regression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/test.h"
#include "train/class_scores.h"
#include "train/ordinal.h"

enum { TARGETS_MAX = 16, CLASSES_MAX = 16 };

static double next(char **text)
{
    return strtod(*text, text);
}

static void check(const char *name, const char *what, double got, double want)
{
    if (isnan(want) != isnan(got) ||
        !(isnan(want) || fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
        fail_msg("%s: %s is %.17g, scikit-learn's is %.17g", name, what, got, want);
}

static void check_scores(const char *name, const struct regression_score *s, char **text)
{
    check(name, "MAE", s->mae, next(text));
    check(name, "RMSE", s->rmse, next(text));
    check(name, "R2", s->r2, next(text));
}

static void check_numbers(const char *name, char *text)
{
    int targets = (int)next(&text), images = (int)next(&text);
    float row[2 * TARGETS_MAX];
    struct regression_scores *s;
    struct image_rows t;

    regression_init(&t, targets);
    for (int i = 0; i < images; i++) {
        for (int k = 0; k < 2 * targets; k++)
            row[k] = (float)next(&text);
        regression_add(&t, i, row + targets, row);
    }
    s = regression_scores_of(&t);
    assert_int_equal(s->images, images);
    check_scores(name, &s->mean, &text);
    for (int k = 0; k < targets; k++)
        check_scores(name, &s->score[k], &text);
    image_rows_release(&t);
    free(s);
}

static void check_classes(const char *name, char *text)
{
    int classes = (int)next(&text), images = (int)next(&text);
    struct ordinal_scores s;
    struct image_rows t;

    class_scores_init(&t, classes);
    for (int i = 0; i < images; i++) {
        float logits[CLASSES_MAX] = {0};
        int label = (int)next(&text);

        logits[(int)next(&text)] = 1;
        class_scores_add(&t, i, label, logits);
    }
    s = ordinal_scores_of(&t);
    check(name, "MAE in classes", s.mae, next(&text));
    check(name, "quadratic weighted kappa", s.kappa, next(&text));
    image_rows_release(&t);
}

static int check_file(const char *path, void (*check_case)(const char *name, char *text))
{
    size_t len;
    char *text = file_read(path, &len), *save;
    int cases = 0;

    assert_non_null(text);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), cases++) {
        char *rest = strchr(line, ' ');

        *rest++ = '\0';
        check_case(line, rest);
    }
    free(text);
    return cases;
}

static void scores_are_those_of_scikit_learn(void **state)
{
    (void)state;
    assert_int_equal(check_file("tests/golden/scores/regression.txt", check_numbers), 20);
    assert_int_equal(check_file("tests/golden/scores/ordinal.txt", check_classes), 15);
}

static void nothing_and_nan_have_no_score(void **state)
{
    struct image_rows t;
    struct regression_scores *s;

    (void)state;
    regression_init(&t, 2);
    s = regression_scores_of(&t);
    assert_true(isnan(s->mean.mae) && isnan(s->mean.rmse) && isnan(s->mean.r2));
    free(s);
    regression_add(&t, 0, (float[]){0, 1}, (float[]){0, 1});
    regression_add(&t, 1, (float[]){1, 0}, (float[]){NAN, 0});
    s = regression_scores_of(&t);
    assert_true(isnan(s->mean.mae) && isnan(s->score[0].rmse) && isnan(s->score[0].r2));
    assert_true(s->score[1].rmse == 0 && s->score[1].r2 == 1);
    free(s);
    image_rows_release(&t);

    class_scores_init(&t, 3);
    assert_true(isnan(ordinal_scores_of(&t).mae));
    class_scores_add(&t, 0, 1, (float[]){0, NAN, 0});
    assert_true(isnan(ordinal_scores_of(&t).mae) && isnan(ordinal_scores_of(&t).kappa));
    image_rows_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(nothing_and_nan_have_no_score),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
