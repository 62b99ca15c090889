/* Folds and fractions: every sample once, classes in proportion, groups kept together. */
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "dataset/split.h"
#include "tests/test.h"

enum { MOST = 600, CLASSES = 7 };

struct set {
    int32_t stratum[MOST];
    uint64_t key[MOST], group[MOST];
    uint8_t bin[MOST];
};

static uint64_t draw(uint64_t seed, uint64_t i)
{
    struct philox p = philox(seed, PHILOX_TEST, 0, i);

    return (uint64_t)p.v[0] << 32 | p.v[1];
}

/* Class c is about 2^c times as frequent as class 0. */
static void fill(struct set *s, int n, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        uint64_t r = draw(seed, (uint64_t)i) % ((1 << CLASSES) - 1) + 1;

        s->stratum[i] = 63 - __builtin_clzll(r);
        s->key[i] = draw(seed + 1000, (uint64_t)i);
        s->group[i] = draw(seed + 2000, (uint64_t)i) % (uint64_t)(n / 4);
    }
}

static void count(const struct set *s, int n, int nbin, int out[][CLASSES])
{
    memset(out, 0, (size_t)nbin * sizeof(*out));
    for (int i = 0; i < n; i++) {
        assert_true(s->bin[i] < nbin);
        out[s->bin[i]][s->stratum[i]]++;
    }
}

static void classes_are_divided_in_their_shares(void **state)
{
    static const double shares[][5] = {
        {1, 1, 1, 1, 1}, {.1, .9}, {.3, .7}, {.5, .25, .25}};
    static const int nbins[] = {5, 2, 2, 3};
    static struct set s;

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (int k = 0; k < 4; k++) {
            int n = 100 + (int)(draw(seed, 99) % 500), nbin = nbins[k], got[5][CLASSES];
            struct split_samples in = {n, s.stratum, CLASSES, NULL, s.key};
            double sum = 0;

            fill(&s, n, seed);
            split_assign(&in, shares[k], nbin, s.bin);
            count(&s, n, nbin, got);
            for (int b = 0; b < nbin; b++)
                sum += shares[k][b];
            for (int c = 0; c < CLASSES; c++) {
                int size = 0;

                for (int b = 0; b < nbin; b++)
                    size += got[b][c];
                for (int b = 0; b < nbin; b++) {
                    double want = size * shares[k][b] / sum;

                    assert_true(got[b][c] > want - 1.01 && got[b][c] < want + 1.01);
                    assert_true(size < nbin || got[b][c] >= 1);
                }
            }
        }
}

static void groups_stay_whole_and_are_spread(void **state)
{
    static const double share[] = {1, 1, 1, 1};
    static struct set s;
    int got[4][CLASSES];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct split_samples in = {MOST, s.stratum, CLASSES, s.group, s.key};

        fill(&s, MOST, seed);
        split_assign(&in, share, 4, s.bin);
        for (int i = 0; i < MOST; i++)
            for (int j = 0; j < i; j++)
                assert_true(s.group[i] != s.group[j] || s.bin[i] == s.bin[j]);
        count(&s, MOST, 4, got);
        for (int b = 0; b < 4; b++) /* the largest class has half of the samples */
            assert_in_range(got[b][CLASSES - 1], MOST / 8 - 12, MOST / 8 + 12);
    }
}

/* Another seed changes the choice; another order of the samples does not. */
static void the_choice_is_of_the_keys(void **state)
{
    static const double share[] = {.2, .8};
    static struct set s, r;
    int moved = 0;

    (void)state;
    fill(&s, MOST, 5);
    for (int i = 0; i < MOST; i++) {
        r.stratum[i] = s.stratum[MOST - 1 - i];
        r.key[i] = s.key[MOST - 1 - i];
    }
    split_assign(&(struct split_samples){MOST, s.stratum, CLASSES, NULL, s.key}, share, 2,
                 s.bin);
    split_assign(&(struct split_samples){MOST, r.stratum, CLASSES, NULL, r.key}, share, 2,
                 r.bin);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(s.bin[i], r.bin[MOST - 1 - i]);
    for (int i = 0; i < MOST; i++)
        r.key[i] = draw(77, (uint64_t)i);
    split_assign(&(struct split_samples){MOST, s.stratum, CLASSES, NULL, r.key}, share, 2,
                 r.bin);
    for (int i = 0; i < MOST; i++)
        moved += s.bin[i] != r.bin[i];
    assert_true(moved > MOST / 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_divided_in_their_shares),
        cmocka_unit_test(groups_stay_whole_and_are_spread),
        cmocka_unit_test(the_choice_is_of_the_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
