/* Classification scores compared with scikit-learn's: scripts/golden/class_scores.py. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/test.h"
#include "train/class_scores.h"
#include "train/scores.h"

static double next(char **text)
{
    return strtod(*text, text);
}

static void check(const char *name, const char *what, double got, double want)
{
    if (isnan(want) != isnan(got) || !(isnan(want) || fabs(got - want) < 1e-12))
        fail_msg("%s: %s is %.17g, scikit-learn's is %.17g", name, what, got, want);
}

static void check_case(char *line)
{
    char *text = strchr(line, ' ');
    struct image_rows t;
    struct class_scores s;
    float logits[16];
    int classes, images;

    *text++ = '\0';
    classes = (int)next(&text);
    images = (int)next(&text);
    class_scores_init(&t, classes);
    for (int i = 0; i < images; i++) {
        int label = (int)next(&text);

        for (int k = 0; k < classes; k++)
            logits[k] = (float)next(&text) / 4;
        class_scores_add(&t, i, label, logits);
    }
    s = class_scores_of(&t);
    check(line, "balanced accuracy", s.balanced_acc, next(&text));
    check(line, "macro F1", s.f1_macro, next(&text));
    check(line, "MCC", s.mcc, next(&text));
    check(line, "AUROC", s.auroc, next(&text));
    image_rows_release(&t);
}

static void scores_are_those_of_scikit_learn(void **state)
{
    size_t len;
    char *text = file_read("tests/golden/scores/class_scores.txt", &len), *save;
    int cases = 0;

    (void)state;
    assert_non_null(text);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        cases += (check_case(line), 1);
    assert_int_equal(cases, 19);
    free(text);
}

static void nothing_and_nan_have_no_score(void **state)
{
    struct image_rows t;
    struct class_scores s;

    (void)state;
    class_scores_init(&t, 3);
    s = class_scores_of(&t);
    assert_true(isnan(s.balanced_acc) && isnan(s.f1_macro) && isnan(s.mcc));
    class_scores_add(&t, 0, 1, (float[]){0, 1, 0});
    class_scores_add(&t, 1, 0, (float[]){0, NAN, 0});
    s = class_scores_of(&t);
    assert_true(isnan(s.balanced_acc) && isnan(s.auroc));
    image_rows_release(&t);
}

/* MCC has a minimum of -1: a negative value is a score. */
static void a_negative_mcc_can_be_best(void **state)
{
    (void)state;
    assert_true(score_is_better(SCORE_MCC, -0.2, -0.5));
    assert_false(score_is_better(SCORE_MCC, -0.5, -0.2));
    assert_true(score_is_better(SCORE_MCC, -0.5, -1));
    assert_true(score_is_better(SCORE_TOP1, 0, -1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(nothing_and_nan_have_no_score),
        cmocka_unit_test(a_negative_mcc_can_be_best),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
