/*
 * The loops of every instruction set that this processor has: conversions from and to
 * 16-bit floats, exact in every bit.
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "cpu/simd/loops.h"
#include "tests/test.h"

enum { ALL = 1 << 16, WIDTH = 64 };

static const struct loops *const tables[] = {
    &loops_base,
#ifdef __x86_64__
    &loops_avx2,
    &loops_avx512,
    &loops_avx512bf16,
#endif
};

/* Calls f(loops) for all loops up to the best that the processor has. */
static void for_each_isa(void (*f)(const struct loops *))
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        f(tables[i]);
        if (tables[i] == loops_best())
            return;
    }
}

/* True if `is` is the correct conversion of x; AVX-512 BF16 treats subnormals as 0. */
static bool is_rounded(uint16_t is, float x)
{
    if (isnan(x))
        return isnan(bf16_to_float(is));
    return is == bf16_from_float(x) || (fabsf(x) < 0x1p-126F && bf16_to_float(is) == 0);
}

static void check_cast(const struct loops *l)
{
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    static float x[ALL];
    static uint16_t y[ALL];

    for (size_t k = 0; k < sizeof(low) / sizeof(*low); k++) {
        for (uint32_t i = 0; i < ALL; i++) {
            uint32_t u = i << 16 | low[k];

            memcpy(&x[i], &u, sizeof(u));
        }
        l->cast(DTYPE_F32, DTYPE_BF16, x, y, ALL, false);
        for (uint32_t i = 0; i < ALL; i++)
            if (!is_rounded(y[i], x[i]))
                fail_msg("%s: %08x becomes %04x", l->isa, i << 16 | low[k], y[i]);
    }
}

static void test_cast(void **state)
{
    (void)state;
    for_each_isa(check_cast);
}

/* Times 1 and plus 0 returns every bf16 at its position, also from a short row. */
static void check_pairs(const struct loops *l)
{
    static uint16_t x[ALL] __attribute__((aligned(64))),
        y[ALL] __attribute__((aligned(64)));
    static const float zeros[WIDTH];
    float ones[WIDTH];

    for (int i = 0; i < WIDTH; i++)
        ones[i] = 1;
    for (int i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    for (int streamed = 0; streamed < 2; streamed++)
        for (int cut = 0; cut < WIDTH; cut++) {
            struct bn_apply a = {.t = DTYPE_BF16,
                                 .n = ALL - cut,
                                 .width = WIDTH,
                                 .x = x,
                                 .y = y,
                                 .mean = zeros,
                                 .scale = ones,
                                 .shift = zeros,
                                 .streamed = streamed};

            memset(y, 0xee, sizeof(y));
            l->bn_apply(&a);
            for (int i = 0; i < ALL; i++)
                if (i < ALL - cut ? !is_rounded(y[i], bf16_to_float(x[i]))
                                  : y[i] != 0xeeee)
                    fail_msg("%s: place %d of %d is %04x", l->isa, i, ALL - cut, y[i]);
        }
}

static void test_pairs(void **state)
{
    (void)state;
    for_each_isa(check_pairs);
}

/*
 * Column sums whose last row is short: missing columns are not changed. Wide enough for
 * strips of all widths.
 */
static void check_columns(const struct loops *l, enum dtype t)
{
    enum { ROWS = 5, COLUMNS = 224 };

    for (int cut = 0; cut < COLUMNS; cut++) {
        float x[ROWS * COLUMNS], sum[COLUMNS] = {0};
        uint16_t half[ROWS * COLUMNS];
        int n = ROWS * COLUMNS - cut;

        for (int i = 0; i < ROWS * COLUMNS; i++) {
            x[i] = (float)(i % COLUMNS + 1);
            half[i] = bf16_from_float(x[i]);
        }
        l->column_sums(t, t == DTYPE_F32 ? (void *)x : (void *)half, n, COLUMNS, sum,
                       cut % 2);
        for (int c = 0; c < COLUMNS; c++) {
            float must = (float)((c + 1) * (c < COLUMNS - cut ? ROWS : ROWS - 1));

            if (!(sum[loops_place(t, l->lanes, c)] == must))
                fail_msg("%s %s: column %d of %d numbers", l->isa, dtype_name(t), c, n);
        }
    }
}

static void check_sums(const struct loops *l)
{
    check_columns(l, DTYPE_F32);
    check_columns(l, DTYPE_BF16);
}

static void test_sums(void **state)
{
    (void)state;
    for_each_isa(check_sums);
}

/* Both sides of a GEMM in bf16 that is computed in fp32: weights rounded as they are packed,
 * straight and transposed, and rows of any bf16 widened. */
static void check_widened(const struct loops *l)
{
    enum { DEPTH = 32, COLUMNS = 32 };
    static float w[DEPTH * COLUMNS], panel[DEPTH * GEMM_PANEL], wide[ALL];
    static uint16_t x[ALL];

    for (int i = 0; i < DEPTH * COLUMNS; i++)
        w[i] = (float)(i + 1) / 777;
    for (int transposed = 0; transposed < 2; transposed++) {
        l->conv.gemm_pack(w, 32, DEPTH, COLUMNS, transposed, GEMM_WIDENED, panel);
        for (int d = 0; d < DEPTH; d++)
            for (int k = 0; k < COLUMNS; k++) {
                float from = transposed ? w[k * 32 + d] : w[d * 32 + k];

                if (panel[d * GEMM_PANEL + k] != bf16_to_float(bf16_from_float(from)))
                    fail_msg("%s: %g is packed as %g", l->isa, from,
                             panel[d * GEMM_PANEL + k]);
            }
    }
    for (int i = 0; i < ALL; i++)
        x[i] = (uint16_t)i;
    for (int width = GEMM_LEFT; width <= GEMM_RIGHT; width += GEMM_LEFT) {
        l->conv.gemm_widen(x, ALL, width, wide, width);
        for (int i = 0; i < ALL; i++) {
            float must = bf16_to_float(x[i]);

            if (memcmp(&wide[i], &must, sizeof(must)) != 0 && !isnan(must))
                fail_msg("%s: bf16 %04x becomes %g", l->isa, x[i], wide[i]);
        }
    }
}

static void test_widened(void **state)
{
    (void)state;
    for_each_isa(check_widened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cast),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_widened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
