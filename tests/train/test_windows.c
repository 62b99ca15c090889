/* Where windows are placed on an image. */
#include "tests/test.h"
#include "train/windows.h"

/* Windows cover the axis, overlap by their share, and start at multiples of the grid. */
static void check(int size, int window, double overlap, int grid)
{
    struct window_axis a = window_axis(size, window, overlap, grid);
    int first = window_place(&a, 0), last = window_place(&a, a.n - 1), before = first;
    int step = (int)(window * (1 - overlap)) / grid * grid;

    step = step < grid ? grid : step;
    for (int i = 0; i < a.n; i++) {
        int pos = window_place(&a, i);

        if (pos % grid)
            fail_msg("size %d: window %d is at %d, no multiple of %d", size, i, pos,
                     grid);
        if (pos - before > step || (i && pos <= before))
            fail_msg("size %d: window %d is at %d after %d, steps are at most %d", size,
                     i, pos, before, step);
        before = pos;
    }
    if (first > 0 || last + window < size || last + window >= size + window)
        fail_msg("size %d: windows from %d to %d", size, first, last + window);
    if (size > window && (first != 0 || last + window >= size + grid))
        fail_msg("size %d: windows from %d to %d", size, first, last + window);
    if (size > window && a.n > (size - window + step - 1) / step + 1)
        fail_msg("size %d: %d windows", size, a.n);
}

static void test_windows_cover(void **state)
{
    static const double overlap[] = {0, 0.25, 0.5, 0.9};

    (void)state;
    for (int size = 1; size < 400; size++)
        for (size_t k = 0; k < sizeof(overlap) / sizeof(*overlap); k++) {
            check(size, 64, overlap[k], 1);
            check(size, 64, overlap[k], 8);
            check(size, 96, overlap[k], 2);
        }
}

/* A small image lies in the middle, as validation pads it. */
static void test_small_image_is_centered(void **state)
{
    struct window_axis a = window_axis(40, 64, 0.5, 1), b = window_axis(41, 64, 0.5, 8);

    (void)state;
    assert_int_equal(a.n, 1);
    assert_int_equal(window_place(&a, 0), -12);
    assert_int_equal(window_place(&b, 0), -8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_cover),
        cmocka_unit_test(test_small_image_is_centered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
