/* Generated images: pure functions of their arguments, all different, JPEGs
 * in folders. */
#include <ftw.h>
#include <math.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "image/encode.h"
#include "image/image.h"
#include "synth/shapes.h"
#include "tests/child.h"
#include "tests/test.h"

enum { SIZE = 32, BYTES = SIZE * SIZE * 3 };

static void draw(uint8_t *rgb, uint64_t seed, uint32_t split, uint32_t number, int shape)
{
    struct synth_image p = {seed, split, number, shape, SIZE};

    synth_shapes_draw(&p, rgb);
}

static double mean_difference(const uint8_t *a, const uint8_t *b, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += abs(a[i] - b[i]);
    return sum / n;
}

static void test_pure(void **state)
{
    uint8_t base[BYTES], other[BYTES];

    (void)state;
    draw(base, 1, 0, 5, 3);
    draw(other, 1, 0, 5, 3);
    assert_memory_equal(base, other, BYTES);
    for (int i = 0; i < 5; i++) { /* each argument changes the whole image */
        draw(other,
             i == 0   ? 2
             : i == 1 ? 1ull << 40 | 1
                      : 1,
             i == 2, i == 3 ? 6 : 5, i == 4 ? 4 : 3);
        if (!(mean_difference(base, other, BYTES) > 10))
            fail_msg("argument %d", i);
    }
}

/* No two images of a set are equal, and none is empty or black. */
static void test_distinct(void **state)
{
    enum { EACH = 8, N = SYNTH_SHAPES * EACH };
    uint8_t(*all)[BYTES] = xmalloc((size_t)N * BYTES);
    int pairs = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        draw(all[i], 0, 0, (uint32_t)(i % EACH), i / EACH);
    for (int i = 0; i < N; i++) {
        double mean = 0, square = 0;

        for (int k = 0; k < BYTES; k++) {
            mean += all[i][k] / (double)BYTES;
            square += all[i][k] * all[i][k] / (double)BYTES;
        }
        if (!(mean > 20 && mean < 235 && square - mean * mean > 100))
            fail_msg("image %d: mean %g", i, mean);
        for (int k = 0; k < i; k++, pairs++)
            if (!(mean_difference(all[i], all[k], BYTES) > 5))
                fail_msg("images %d and %d", i, k);
    }
    assert_int_equal(pairs, N * (N - 1) / 2);
    free(all);
}

/* Twice the size gives the same image except for the noise. */
static void test_sizes(void **state)
{
    uint8_t small[BYTES], *large = xmalloc(4 * BYTES), half[BYTES];

    (void)state;
    for (int shape = 0; shape < SYNTH_SHAPES; shape++) {
        struct synth_image p = {9, 1, 2, shape, 2 * SIZE};

        draw(small, 9, 1, 2, shape);
        synth_shapes_draw(&p, large);
        for (int i = 0; i < BYTES; i++) {
            int k = i % 3, x = i / 3 % SIZE, y = i / 3 / SIZE;
            const uint8_t *ptr = large + (2 * y * 2 * SIZE + 2 * x) * 3 + k;

            half[i] =
                (uint8_t)((ptr[0] + ptr[3] + ptr[6 * SIZE] + ptr[6 * SIZE + 3]) / 4);
        }
        if (!(mean_difference(small, half, BYTES) < 12))
            fail_msg("%s: %g", synth_shape_name(shape),
                     mean_difference(small, half, BYTES));
    }
    free(large);
}

static void test_names(void **state)
{
    (void)state;
    for (int i = 0; i < SYNTH_SHAPES; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(synth_shape_name(i), synth_shape_name(k));
}

static void test_jpeg(void **state)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    uint8_t rgb[BYTES];
    size_t len;
    int w, h;

    (void)state;
    for (int quality = 50; quality <= 100; quality += 50) {
        unsigned char *jpeg;

        draw(rgb, 0, 0, 0, 0);
        jpeg = jpeg_encode(rgb, SIZE, SIZE, quality, &len);
        assert_int_equal(image_decoder_open(d, jpeg, len, &w, &h, &why), 0);
        assert_true(w == SIZE && h == SIZE);
        assert_int_equal(image_decoder_read(d, NULL, &img, &why), 0);
        assert_int_equal(img.stride, 3 * SIZE);
        if (!(mean_difference(rgb, img.pixel, BYTES) < (quality == 50 ? 12 : 2)))
            fail_msg("quality %d: %g", quality, mean_difference(rgb, img.pixel, BYTES));
        free(jpeg);
    }
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
}

/* trainc synth shapes --out out --classes 3 --train 10 --val 4 --seed `seed` */
static int run(char *out, int64_t seed)
{
    struct cmd_word arg = {"shapes", "argument 1"};
    struct cfgnode_pair pair[] = {{"--out", out, ""},
                                  {"--classes", "3", ""},
                                  {"--train", "10", ""},
                                  {"--val", "4", ""}};
    struct cmdline line = {.arg = &arg, .narg = 1, .command = pair, .ncommand = 4};
    struct config cfg = {.seed = seed};

    log_level_set(LOG_WARNING);
    return cmd_synth.run(&cfg, &line);
}

struct synth_run {
    char *out;
    int64_t seed;
};

static void run_and_leave(void *arg)
{
    const struct synth_run *r = arg;

    _exit(run(r->out, r->seed));
}

static void check_refused(char *out, int64_t seed)
{
    check_leaves(run_and_leave, &(struct synth_run){out, seed}, EXIT_FAILED, "");
}

static int count_files(const char *dir, const char *below)
{
    char *path = path_join(dir, below), **names;
    int n;

    names = dir_list(path, &n);
    dir_list_free(names, n);
    free(path);
    return n;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void test_folder(void **state)
{
    char root[] = "/tmp/trainc-test-XXXXXX", *out, *partial, *path, *first, *again;
    size_t len, len_again;

    (void)state;
    assert_non_null(mkdtemp(root));
    out = path_join(root, "shapes/");
    partial = path_join(root, "shapes.partial");
    path = path_join(root, "shapes/train/circle/0000.jpg");
    assert_int_equal(run(out, 7), 0);
    assert_false(file_exists(partial));
    assert_int_equal(count_files(out, "train"), 3);
    assert_int_equal(count_files(out, "train/circle"), 4); /* 10 over 3 classes */
    assert_int_equal(count_files(out, "train/square"), 3);
    assert_int_equal(count_files(out, "val/circle"), 2);
    assert_int_equal(count_files(out, "val/triangle"), 1);
    first = file_read(path, &len);
    assert_non_null(first);

    assert_int_equal(unlink(path), 0); /* run again: not even opened */
    assert_int_equal(run(out, 7), 0);
    assert_false(file_exists(path));
    check_refused(out, 8); /* other seeds are rejected */
    check_refused(root, 7);

    /* An interrupted set is continued with the same arguments, and with no others. */
    out[strlen(out) - 1] = '\0';
    assert_int_equal(rename(out, partial), 0);
    check_refused(out, 8);
    assert_int_equal(run(out, 7), 0);
    again = file_read(path, &len_again);
    assert_non_null(again);
    assert_int_equal(len, len_again);
    assert_memory_equal(first, again, len);
    assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(first);
    free(again);
    free(out);
    free(partial);
    free(path);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pure),  cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_names),
        cmocka_unit_test(test_jpeg),  cmocka_unit_test(test_folder),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
