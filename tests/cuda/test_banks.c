/* Reads of pixels' logits in shared memory: the number of bank conflicts for every number
 * of classes. */
#include "cuda/banks.h"

#include "tests/test.h"

enum { BANKS = 32, WARP = 32, LEAST = 2, MOST = 256 };

/* Returns the most addresses in one bank when lanes first to first + n read `floats`
 * each. */
static int bank_conflicts(int first, int n, int floats, int lanes, int pitch)
{
    int max = 0;

    for (int bank = 0; bank < BANKS; bank++) {
        int here = 0;

        for (int i = first; i < first + n; i++)
            for (int f = 0; f < floats; f++)
                here += (i / lanes * pitch + i % lanes * floats + f) % BANKS == bank;
        if (here > max)
            max = here;
    }
    return max;
}

static int worst(int classes, int pitch)
{
    int floats = classes % 4 ? 1 : 4, lanes = classes > PIXEL_CLASSES ? 4 : 1;
    int n = WARP / floats, max = 0;

    for (int first = 0; first < WARP; first += n) {
        int here = bank_conflicts(first, n, floats, lanes, pitch);

        if (here > max)
            max = here;
    }
    return max;
}

static void test_pixels(void **state)
{
    int met = 0;

    (void)state;
    for (int classes = LEAST; classes <= MOST; classes++) {
        int reads = worst(classes, classes + pixel_gap(classes));

        if (reads != 1)
            fail_msg("%d classes: %d reads meet in a bank", classes, reads);
        met += worst(classes, classes) > 1;
    }
    /* without gaps, as in published tables of bank conflicts */
    assert_int_equal(worst(8, 8), 2);
    assert_int_equal(worst(16, 16), 4);
    assert_int_equal(worst(32, 32), 8);
    assert_int_equal(worst(20, 20), 1);
    print_message("without gaps reads would meet for %d of %d numbers of classes\n", met,
                  MOST - LEAST + 1);
}

/* Rows stay whole packs, so that 16-byte reads are aligned to 16 bytes. */
static void test_packs(void **state)
{
    (void)state;
    for (int classes = 4; classes <= MOST; classes += 4)
        assert_int_equal(pixel_gap(classes) % 4, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_packs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
