/* The loader with label maps returns what the transforms compute, for any number of
 * workers and any cache; padding, damage. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "dataset/label.h"
#include "dataset/loader.h"
#include "dataset/mosaic.h"
#include "image/transformer.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { N = 11, W = 40, H = 24, CLASSES = 9, MASK = W * H, PIXELS = MASK * 3 };

static const struct label_options nine = {.classes = CLASSES};

/* Images of several sizes, with labels by a formula and some ignored pixels. */
static char *make_data(void)
{
    char *dir = make_temp_dir();
    struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < N; i++) {
        int w = 30 + i * 9 % 70, h = 26 + i * 14 % 50;
        char *image = xasprintf("im/%02d.jpg", i), *label = xasprintf("lab/%02d.png", i);
        uint8_t *v = xmalloc((size_t)(w * h));

        for (int p = 0; p < w * h; p++)
            v[p] = (uint8_t)((p % w / 4 + p / w / 3 + i) % (CLASSES + 1));
        for (int p = 0; p < w * h; p++)
            v[p] = v[p] == CLASSES ? 255 : v[p];
        make_image(dir, image, w, h, i);
        make_label(dir, label, w, h, v);
        strbuf_addf(&list, "%s %s\n", image, label);
        free(v);
        free(image);
        free(label);
    }
    make_file(dir, "train.txt", list.buf, list.len);
    strbuf_release(&list);
    return dir;
}

static int mosaics; /* expected mosaics */

static struct loader_options training(int workers, int divisor)
{
    struct loader_options o = {.transform = transform_for_segmentation(W, H),
                               .batch = 4,
                               .workers = workers,
                               .prefetch = 2,
                               .seed = 11,
                               .shuffle = true,
                               .max_bad_share = 0.5};

    o.transform.label_divisor = divisor;
    o.transform.factor[0] = 0.5;
    o.transform.factor[1] = 2;
    o.transform.shift = 2;
    o.transform.flip.probability = 0.5;
    o.transform.jitter[0] = 0.4;
    return o;
}

/* Computes the image with the transforms only. */
static void expect_image(const struct dataset *d, const struct loader_options *o,
                         struct augment_key key, uint8_t *pixel, uint8_t *label_map)
{
    int64_t sample = key.sample;
    struct image_limits limits = image_limits_or_default(NULL);
    struct dataset_bytes bytes = {0};
    struct label_reader r = {0};
    struct transformer m;
    struct strbuf why = STRBUF_INIT;

    transformer_init(&m, &limits);
    assert_int_equal(dataset_label_map(d, sample, &limits, &bytes, &r, &why), 0);
    transform_label(&m, &o->transform, &key, r.pixel, r.w, r.h, label_map);
    assert_int_equal(dataset_read(d, sample, limits.max_bytes, &bytes, &why), 0);
    assert_int_equal(
        transform_file(&m, &o->transform, &key, bytes.data, bytes.len, pixel, &why), 0);
    transformer_release(&m);
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
}

/* Computes a sample, which is a mosaic of four images if it is chosen for one. */
static void expect_sample(const struct dataset *d, const struct loader_options *o,
                          uint64_t epoch, int64_t sample, uint8_t *pixel,
                          uint8_t *label_map)
{
    struct augment_key key = {o->seed, epoch, sample};
    uint8_t image[PIXELS], labels[MASK];
    struct mosaic m;
    int div = o->transform.label_divisor;

    expect_image(d, o, key, pixel, label_map);
    if (!mosaic_draw(&m, &key, o->mosaic, &o->transform, d->n))
        return;
    mosaics++;
    assert_true(m.x >= W / 4 - div && m.x <= W - W / 4 && m.x % div == 0);
    assert_true(m.y >= H / 4 - div && m.y <= H - H / 4 && m.y % div == 0);
    for (int q = 0; q < MOSAIC_QUARTERS; q++) {
        expect_image(d, o, m.key[q], image, labels);
        assert_true(q != m.self || m.key[q].sample == sample);
        for (int i = 0; i < MASK; i++)
            if ((i % W >= m.x) + 2 * (i / W >= m.y) == q)
                memcpy(pixel + (ptrdiff_t)3 * i, image + (ptrdiff_t)3 * i, 3);
        for (int i = 0; i < W / div * (H / div); i++)
            if ((i % (W / div) * div >= m.x) + 2 * (i / (W / div) * div >= m.y) == q)
                label_map[i] = labels[i];
    }
}

static void compare_epoch(const struct dataset *d, const struct loader_options *o,
                          struct loader *l, uint64_t epoch)
{
    int div = o->transform.label_divisor, label_map_size = W / div * (H / div),
        samples = 0;
    const struct batch *b;

    loader_start_epoch(l, epoch, 0);
    while ((b = loader_next(l))) {
        for (int i = 0; i < b->size; i++) {
            uint8_t pixel[PIXELS], label_map[MASK];
            const uint8_t *got = b->label_map + i * label_map_size;

            if (b->sample[i] < 0) { /* after the last sample */
                memset(pixel, 0, sizeof(pixel));
                memset(label_map, LABEL_IGNORE, sizeof(label_map));
                assert_int_equal(b->label[i], -1);
            } else {
                expect_sample(d, o, epoch, b->sample[i], pixel, label_map);
                assert_int_equal(b->label[i], 0);
                samples++;
            }
            assert_memory_equal(b->pixel + i * PIXELS, pixel, PIXELS);
            assert_memory_equal(got, label_map, (size_t)label_map_size);
        }
        loader_release_batch(l, b);
    }
    assert_int_equal(samples, N);
}

static void batches_are_the_transforms(void **state)
{
    static const double factors[][2] = {{0.5, 2}, {1, 1}, {0, 0}, {1.5, 1.5}};
    char *dir = make_data();
    struct dataset *d = open_labels("list", dir, &nine);

    (void)state;
    for (int c = 0; c < 4 * 2 * 2 * 2; c++) { /* factors, cache, workers, divisor */
        struct loader_options o = training(c / 8 % 2 ? 3 : 0, c / 16 ? 8 : 1);
        struct loader *l;

        memcpy(o.transform.factor, factors[c % 4], sizeof(o.transform.factor));
        o.cache_bytes = c / 4 % 2 ? 60000 : 0; /* fits some images */
        o.mosaic = c % 3 / 2.0;
        l = loader_open(d, &o);
        for (uint64_t epoch = 0; epoch < 3; epoch++)
            compare_epoch(d, &o, l, epoch);
        if (o.cache_bytes)
            assert_in_range(loader_stats(l).cached_bytes, 1, o.cache_bytes);
        loader_close(l);
    }
    assert_true(mosaics > 32 * N && mosaics < 64 * N); /* half of 32 * 3 epochs */
    dataset_close(d);
    remove_temp_dir(dir);
}

/* An image that is large enough to be decoded at half its size is the same with a
 * cache. */
static void large_images_in_the_cache(void **state)
{
    char *dir = make_temp_dir();
    uint8_t *v = xcalloc(400 * 240, 1);
    struct dataset *d;
    int run = 0;
    static uint8_t first[4 * PIXELS];

    (void)state;
    make_image(dir, "a.jpg", 400, 240, 3);
    make_label(dir, "a.png", 400, 240, v);
    make_file(dir, "train.txt", "a.jpg a.png\n", 12);
    d = open_labels("list", dir, &nine);
    for (int factor = 1; factor <= 2; factor++)
        for (int c = 0; c < 4; c++, run++) {
            struct loader_options o = training(0, 1);
            const struct batch *b;
            struct loader *l;

            o.transform.factor[0] = 1;
            o.transform.factor[1] = factor;
            o.cache_bytes = c ? 1 << 20 : 0;
            l = loader_open(d, &o);
            loader_start_epoch(l, 0, 0);
            if (c == 2) { /* now it is cached */
                loader_release_batch(l, loader_next(l));
                loader_start_epoch(l, 0, 0);
            }
            b = loader_next(l);
            if (c == 0)
                memcpy(first, b->pixel, sizeof(first));
            assert_memory_equal(b->pixel, first, sizeof(first));
            loader_release_batch(l, b);
            loader_close(l);
        }
    assert_int_equal(run, 8);
    dataset_close(d);
    free(v);
    remove_temp_dir(dir);
}

static void damage(const char *dir)
{
    uint8_t v[64 * 64] = {0};

    v[30 * 3 + 7] = CLASSES; /* not a class */
    make_label(dir, "lab/00.png", 30, 26, v);
    make_label(dir, "lab/01.png", 30, 26, v + 30 * 4); /* the image has a different
                                                        * size */
    make_file(dir, "lab/02.png", "\x89PNG\r\n\x1a\nx", 9);
    make_file(dir, "im/03.jpg", "no image", 8);
}

/* A damaged sample is black, and all its labels are ignored. */
static void damaged_pairs_are_left_out(void **state)
{
    char *dir = make_data();
    struct dataset *d = open_labels("list", dir, &nine);

    (void)state;
    damage(dir);
    for (int c = 0; c < 4; c++) {
        struct loader_options o = training(c % 2 ? 3 : 0, 1);
        const struct batch *b;
        struct loader *l;
        int bad = 0;

        o.cache_bytes = c / 2 ? 1 << 20 : 0;
        o.mosaic = c / 2;
        l = loader_open(d, &o);
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            loader_start_epoch(l, epoch, 0);
            while ((b = loader_next(l))) {
                for (int i = 0; i < b->size; i++) {
                    int64_t sample = b->sample[i];

                    if (sample < 0 || sample > 3)
                        continue;
                    bad++;
                    assert_int_equal(b->label[i], -1);
                    for (int p = 0; p < MASK; p++) {
                        assert_int_equal(b->label_map[i * MASK + p], LABEL_IGNORE);
                        assert_int_equal(b->pixel[i * PIXELS + 3 * p], 0);
                    }
                }
                loader_release_batch(l, b);
            }
        }
        assert_int_equal(bad, 8);
        assert_int_equal(loader_stats(l).bad_files, 4);
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

/* An intact sample keeps its own pixels in the quarters of damaged images. */
static void damaged_quarters_are_the_samples(void **state)
{
    char *dir = make_data();
    struct dataset *d = open_labels("list", dir, &nine);
    struct loader_options o = training(0, 1);
    const struct batch *b;
    struct loader *l;
    int kept = 0;

    (void)state;
    damage(dir);
    o.mosaic = 1;
    l = loader_open(d, &o);
    loader_start_epoch(l, 0, 0);
    while ((b = loader_next(l))) {
        for (int i = 0; i < b->size; i++) {
            uint8_t pixel[PIXELS], labels[MASK];
            struct mosaic m;

            if (b->sample[i] < 4)
                continue;
            assert_int_equal(b->label[i], 0);
            expect_image(d, &o, b->key[i], pixel, labels);
            assert_true(mosaic_draw(&m, &b->key[i], 1, &o.transform, N));
            for (int p = 0; p < MASK; p++) {
                int q = (p % W >= m.x) + 2 * (p / W >= m.y);

                if (q != m.self && m.key[q].sample > 3)
                    continue;
                kept += q != m.self;
                assert_int_equal(b->label_map[i * MASK + p], labels[p]);
                assert_memory_equal(b->pixel + i * PIXELS + 3 * p, pixel + 3 * p, 3);
            }
        }
        loader_release_batch(l, b);
    }
    assert_true(kept > MASK);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void run_in_order(void *dir)
{
    struct dataset *d = open_labels("list", dir, &nine);
    struct loader_options o = training(2, 1);
    const struct batch *b;
    struct loader *l;

    o.shuffle = false;
    o.max_bad_share = 0.3; /* 3 of 11 are allowed, 4 are not */
    l = loader_open(d, &o);
    loader_start_epoch(l, 0, 0);
    while ((b = loader_next(l)))
        loader_release_batch(l, b);
    if (loader_failure(l))
        die("%s", loader_failure(l));
    loader_close(l);
    dataset_close(d);
}

static void damage_is_named(void **state)
{
    char *dir = make_data(), *text;
    int code;

    (void)state;
    damage(dir);
    text = child_run(run_in_order, dir, &code);
    assert_int_equal(code, 1);
    assert_non_null(
        strstr(text, "im/00.jpg (train.txt:1)': cannot decode it: its label '"));
    assert_non_null(strstr(text, "lab/00.png (train.txt:1)': the value 9 at pixel (x 7, "
                                 "y 3) is not a class: the data set has 0 to 8 and 255"));
    assert_non_null(strstr(text, "im/01.jpg (train.txt:2)': cannot decode it: it has 39 "
                                 "x 40 pixels, but its label map '"));
    assert_non_null(strstr(text, "lab/01.png (train.txt:2)' has 30 x 26"));
    assert_non_null(strstr(text, "lab/02.png (train.txt:3)': the file is cut off"));
    assert_non_null(strstr(
        text, "im/03.jpg (train.txt:4)': cannot decode it: no image of a known format"));
    assert_non_null(
        strstr(text, "4 of 11 files are damaged, more than the share of 0.3"));
    free(text);
    remove_temp_dir(dir);
}

static void synthetic_label_maps(void **state)
{
    struct dataset_source s = {.split = "train",
                               .samples = 5,
                               .labels = {.classes = CLASSES},
                               .width = W,
                               .height = H,
                               .label_maps = true};
    struct dataset *d = dataset_open("synthetic", &s);
    struct loader_options o = training(2, 1);
    struct loader *l;
    const struct batch *b;
    int seen[256] = {0};

    (void)state;
    memset(o.transform.factor, 0, sizeof(o.transform.factor));
    o.transform.shift = 0;
    l = loader_open(d, &o);
    loader_start_epoch(l, 0, 0);
    b = loader_next(l);
    for (int p = 0; p < 4 * MASK; p++)
        seen[b->label_map[p]]++;
    for (int c = 0; c < 256; c++)
        assert_true((seen[c] > 0) == (c < CLASSES));
    loader_close(l);
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_the_transforms),
        cmocka_unit_test(large_images_in_the_cache),
        cmocka_unit_test(damaged_pairs_are_left_out),
        cmocka_unit_test(damaged_quarters_are_the_samples),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(synthetic_label_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
