/* Multi-label scores compared with scikit-learn's: scripts/golden/multilabel.py. */
#include "train/multilabel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/test.h"

enum { CLASSES_MAX = 16 };

static double next(char **text)
{
    return strtod(*text, text);
}

static void check(const char *name, const char *what, double got, double want)
{
    if (isnan(want) != isnan(got) || !(isnan(want) || fabs(got - want) < 1e-12))
        fail_msg("%s: %s is %.17g, scikit-learn's is %.17g", name, what, got, want);
}

/* Returns the F1 of a class at its threshold by counting. */
static double f1_at_threshold(const struct image_rows *t, int k, double threshold)
{
    double tp = 0, wrong = 0;

    for (int64_t i = 0; i < t->n; i++) {
        const float *row = t->value + i * t->width;
        int y = (int)row[t->width / 2 + k];
        bool has = multilabel_sigmoid((double)row[k]) >= threshold;

        tp += y == 1 && has;
        wrong += y != 255 && (y == 1) != has;
    }
    return tp + wrong > 0 ? 2 * tp / (2 * tp + wrong) : 0;
}

static void read_images(struct image_rows *t, int images, char **text)
{
    float logit[CLASSES_MAX];
    uint8_t target[CLASSES_MAX];
    int classes = t->width / 2;

    for (int i = 0; i < images; i++) {
        for (int k = 0; k < classes; k++)
            logit[k] = (float)next(text) / 4;
        for (int k = 0; k < classes; k++)
            target[k] = (uint8_t)next(text);
        multilabel_add(t, i, target, logit);
    }
}

static void check_case(char *line)
{
    char *text = strchr(line, ' ');
    struct image_rows t;
    struct multilabel_scores *s;
    int classes, images;

    *text++ = '\0';
    classes = (int)next(&text);
    images = (int)next(&text);
    multilabel_init(&t, classes);
    read_images(&t, images, &text);
    s = multilabel_scores_of(&t);
    check(line, "mAP", s->map, next(&text));
    check(line, "AUROC", s->auroc, next(&text));
    check(line, "micro F1", s->f1_micro, next(&text));
    check(line, "macro F1", s->f1_macro, next(&text));
    for (int k = 0; k < classes; k++) {
        const struct multilabel_class *c = &s->score[k];

        check(line, "AP of a class", c->ap, next(&text));
        check(line, "AUROC of a class", c->auroc, next(&text));
        check(line, "F1 of a class", c->f1, next(&text));
        check(line, "best F1 of a class", c->f1_tuned, next(&text));
        if (c->positive)
            check(line, "F1 at the threshold", f1_at_threshold(&t, k, c->threshold),
                  c->f1_tuned);
        else
            assert_true(c->threshold == 0.5);
    }
    image_rows_release(&t);
    free(s);
}

static void scores_are_those_of_scikit_learn(void **state)
{
    size_t len;
    char *text = file_read("tests/golden/scores/multilabel.txt", &len), *save;
    int cases = 0;

    (void)state;
    assert_non_null(text);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        cases += (check_case(line), 1);
    assert_int_equal(cases, 23);
    free(text);
}

static void nothing_and_nan_have_no_score(void **state)
{
    struct image_rows t;
    struct multilabel_scores *s;

    (void)state;
    multilabel_init(&t, 2);
    s = multilabel_scores_of(&t);
    assert_true(isnan(s->map) && isnan(s->f1_micro) && isnan(s->f1_macro));
    free(s);
    multilabel_add(&t, 0, (uint8_t[]){0, 1}, (float[]){0, 1});
    multilabel_add(&t, 1, (uint8_t[]){1, 0}, (float[]){NAN, 0});
    s = multilabel_scores_of(&t);
    assert_true(isnan(s->map) && isnan(s->auroc) && isnan(s->f1_micro));
    free(s);
    image_rows_release(&t);
}

static void thresholds_are_read(void **state)
{
    double *t = multilabel_thresholds_parse("[0.25, 0.75]", 2);

    (void)state;
    assert_non_null(t);
    assert_true(t[0] == 0.25 && t[1] == 0.75);
    free(t);
    assert_null(multilabel_thresholds_parse("[0.25]", 2));
    assert_null(multilabel_thresholds_parse("nonsense", 2));
    assert_null(multilabel_thresholds_parse(NULL, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_scikit_learn),
        cmocka_unit_test(nothing_and_nan_have_no_score),
        cmocka_unit_test(thresholds_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
