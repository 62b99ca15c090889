/* Proposals of a sweep's search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/sweep_tpe.h"
#include "tests/test.h"

enum { TRIALS = 60, SEEDS = 20 };

static char *axes[] = {(char[]){"A=log(1e-4,1)"}, (char[]){"B=uniform(-1,1)"},
                       (char[]){"C=x,y,z"}};

/* Largest at A = 0.003 and B = 0.4 with C = y. */
static double score(const double *position)
{
    double a = 1e-4 * pow(1e4, position[0]), b = -1 + 2 * position[1];
    double da = log10(a / 0.003), db = b - 0.4;

    return -da * da - db * db - ((int)(position[2] * 3) != 1);
}

/* Returns the best score of a search. */
static double search(const struct space *s, uint64_t seed, bool tpe)
{
    struct tpe_trial trial[TRIALS];
    double position[TRIALS][3], best = -HUGE_VAL;

    for (int i = 0; i < TRIALS; i++) {
        tpe_propose(s, trial, tpe ? i : 0, seed, i, position[i]);
        for (int a = 0; a < 3; a++)
            assert_true(position[i][a] >= 0 && position[i][a] < 1);
        trial[i] = (struct tpe_trial){position[i], score(position[i])};
        if (i % 7 == 3)
            trial[i].score = (double)NAN; /* failed */
        else
            best = fmax(best, trial[i].score);
    }
    return best;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns the median loss of the best trial over the seeds. */
static double median(const struct space *s, bool tpe)
{
    double loss[SEEDS];

    for (uint64_t seed = 0; seed < SEEDS; seed++)
        loss[seed] = -search(s, seed, tpe);
    qsort(loss, SEEDS, sizeof(*loss), compare);
    return (loss[SEEDS / 2 - 1] + loss[SEEDS / 2]) / 2;
}

/* The loss of the best of 60 trials is less than half of that of random ones. */
static void test_tpe_beats_chance(void **state)
{
    struct space s;

    (void)state;
    space_init(&s, axes, 3);
    if (!(median(&s, true) < median(&s, false) / 2))
        fail_msg("loss %g of TPE, %g of random trials", median(&s, true),
                 median(&s, false));
    space_release(&s);
}

/* Proposals depend on seed and number only, and random ones are uniform. */
static void test_random_is_uniform(void **state)
{
    enum { N = 3000 };
    double a[3], b[3], sum[3] = {0};
    int choice[3] = {0};
    struct space s;

    (void)state;
    space_init(&s, axes, 3);
    for (int i = 0; i < N; i++) {
        tpe_propose(&s, NULL, 0, 5, i, a);
        tpe_propose(&s, NULL, 0, 5, i, b);
        assert_memory_equal(a, b, sizeof(a));
        for (int k = 0; k < 3; k++)
            sum[k] += a[k];
        choice[(int)(a[2] * 3)]++;
    }
    for (int k = 0; k < 3; k++) /* 4 sigma */
        assert_true(fabs(sum[k] / N - 0.5) < 4 * sqrt(1.0 / 12 / N));
    for (int k = 0; k < 3; k++)
        assert_true(fabs(choice[k] - N / 3.0) < 4 * sqrt(N * 2.0 / 9));
    space_release(&s);
}

static void check_word(const struct space_axis *a, double position, const char *want)
{
    char *word = space_word(a, position);

    assert_string_equal(word, want);
    free(word);
}

static void test_words(void **state)
{
    char *text[] = {(char[]){"LR=log(1e-4,1e-2)"}, (char[]){"P=uniform(0,0.5)"},
                    (char[]){"N=int(2,4)"}, (char[]){"O=sgd,[a,b]"}};
    struct space s;

    (void)state;
    space_init(&s, text, 4);
    check_word(&s.axis[0], 0, "LR=0.0001");
    check_word(&s.axis[0], 0.5, "LR=0.001");
    check_word(&s.axis[1], 0.25, "P=0.125");
    check_word(&s.axis[2], 0, "N=2");
    check_word(&s.axis[2], 0.34, "N=3");
    check_word(&s.axis[2], 0.999999, "N=4");
    check_word(&s.axis[3], 0.49, "O=sgd");
    check_word(&s.axis[3], 0.5, "O=[a,b]");
    assert_true(space_is_distribution(text[0]));
    assert_false(space_is_distribution(text[3]));
    space_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tpe_beats_chance),
        cmocka_unit_test(test_random_is_uniform),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
