/* Every container that trainc pack writes, against its source data set: bytes, labels,
 * order, batches; damage, and continuing after an interruption. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/label.h"
#include "dataset/loader.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

enum { SIDE = 24, SHARD = 7, LIMIT = 1 << 24 };

static struct dataset *open_source(const char *dir, bool label_maps)
{
    struct dataset_source s = pack_source(dir, label_maps);

    return dataset_open(label_maps ? "list" : "folder", &s);
}

static struct dataset *open_packed(const struct pack_format *f, const char *dir,
                                   bool label_maps)
{
    struct dataset_source s = pack_source(dir, label_maps);

    return dataset_open(f->name, &s);
}

static void same_bytes(const struct dataset_bytes *a, const struct dataset_bytes *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

/* Compares both whole images. */
static void same_pixels(const struct dataset_bytes *a, const struct dataset_bytes *b)
{
    const struct dataset_bytes *bytes[2] = {a, b};
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img[2] = {{0}};

    for (int i = 0; i < 2; i++) {
        int w, h;

        if (image_decoder_open(d, bytes[i]->data, bytes[i]->len, &w, &h, &why) < 0 ||
            image_decoder_read(d, NULL, &img[i], &why) < 0)
            fail_msg("%s", why.buf);
    }
    assert_int_equal(img[0].w, img[1].w);
    assert_int_equal(img[0].h, img[1].h);
    for (int y = 0; y < img[0].h; y++)
        assert_memory_equal(img[0].pixel + (size_t)y * img[0].stride,
                            img[1].pixel + (size_t)y * img[1].stride,
                            (size_t)img[0].w * 3);
    image_release(&img[0]);
    image_release(&img[1]);
    image_decoder_free(d);
    strbuf_release(&why);
}

static void same_label_maps(const struct dataset *a, int64_t i, const struct dataset *b,
                            int64_t k)
{
    struct image_limits limits = image_limits_or_default(NULL);
    struct label_reader r[2] = {{0}};
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;

    if (dataset_label_map(a, i, &limits, &bytes, &r[0], &why) < 0 ||
        dataset_label_map(b, k, &limits, &bytes, &r[1], &why) < 0)
        fail_msg("%s", why.buf);
    assert_int_equal(r[0].w, r[1].w);
    assert_int_equal(r[0].h, r[1].h);
    assert_memory_equal(r[0].pixel, r[1].pixel, (size_t)r[0].w * (size_t)r[0].h);
    label_reader_release(&r[0]);
    label_reader_release(&r[1]);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
}

/* Checks that sample i of a equals sample k of b. */
static void same_sample(const struct dataset *a, int64_t i, const struct dataset *b,
                        int64_t k, bool decoded)
{
    struct dataset_bytes x = {0}, y = {0};
    struct strbuf why = STRBUF_INIT;

    if (dataset_read(a, i, LIMIT, &x, &why) < 0 ||
        dataset_read(b, k, LIMIT, &y, &why) < 0)
        fail_msg("sample %lld: %s", (long long)i, why.buf);
    (decoded ? same_pixels : same_bytes)(&x, &y);
    assert_int_equal(dataset_label(a, i), dataset_label(b, k));
    if (dataset_has_labels(a))
        same_label_maps(a, i, b, k);
    assert_int_equal(dataset_read(b, k, 10, &y, &why), -1); /* the limit applies */
    assert_true(why.len > 0);
    dataset_bytes_release(&x);
    dataset_bytes_release(&y);
    strbuf_release(&why);
}

static uint64_t mix(uint64_t h, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* Returns a hash of two epochs' batches. Nothing is shrunk, because decoded images cannot
 * be. */
static uint64_t batches(const struct dataset *d, int workers)
{
    bool maps = dataset_has_labels(d);
    struct loader_options o = {.transform = maps ? transform_for_segmentation(SIDE, SIDE)
                                                 : transform_for_training(SIDE),
                               .batch = 5,
                               .workers = workers,
                               .seed = 3,
                               .shuffle = true};
    const struct batch *b;
    struct loader *l;
    uint64_t h = 14695981039346656037u;

    o.transform.shrink_gap = 0;
    l = loader_open(d, &o);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        loader_start_epoch(l, epoch, 0);
        while ((b = loader_next(l))) {
            size_t n = (size_t)b->size;

            h = mix(h, b->pixel, n * SIDE * SIDE * 3);
            h = mix(h, b->label, n * sizeof(*b->label));
            h = maps ? mix(h, b->label_map, n * SIDE * SIDE) : h;
            loader_release_batch(l, b);
        }
    }
    assert_null(loader_failure(l));
    loader_close(l);
    return h;
}

static void same_data(const struct dataset *a, const struct dataset *b, bool decoded)
{
    static const int workers[] = {0, 1, 2, 8};
    uint64_t want = batches(a, 0);

    assert_int_equal(a->n, b->n);
    assert_int_equal(a->nclass, b->nclass);
    for (int c = 0; c < a->nclass; c++)
        assert_string_equal(a->class_name[c], b->class_name[c]);
    for (int64_t i = 0; i < a->n; i++)
        same_sample(a, i, b, i, decoded);
    for (int w = 0; w < 4; w++)
        if (batches(b, workers[w]) != want)
            fail_msg("%d workers: other batches than those of '%s'", workers[w], a->name);
}

static void formats_keep_everything(void **state)
{
    (void)state;
    for (int maps = 0; maps < 2; maps++) {
        char *src = maps ? make_label_maps() : make_classes();
        struct dataset *a = open_source(src, maps), *b;

        for (const struct pack_format *const *f = pack_table; *f; f++) {
            char *dst = make_temp_dir();
            struct pack_result r = pack_to((*f)->name, a, dst, SHARD, NULL);

            print_message("%s, %s\n", (*f)->name, maps ? "label maps" : "classes");
            assert_int_equal(r.samples, PACK_IMAGES);
            assert_int_equal(r.left_out, 0);
            assert_int_equal(r.containers, (*f)->single_file ? 1 : 4);
            b = open_packed(*f, dst, maps);
            same_data(a, b, (*f)->decodes);
            dataset_close(b);
            remove_temp_dir(dst);
        }
        dataset_close(a);
        remove_temp_dir(src);
    }
}

/* Stores the samples of an epoch in order, starting at a batch. Returns their number. */
static int epoch_samples(struct loader *l, uint64_t epoch, int64_t start, int64_t *sample)
{
    const struct batch *b;
    int n = 0;

    loader_start_epoch(l, epoch, start);
    while ((b = loader_next(l))) {
        for (int i = 0; i < b->size; i++)
            if (b->sample[i] >= 0)
                sample[n++] = b->sample[i];
        loader_release_batch(l, b);
    }
    return n;
}

/* Shards are read one after another for any number of workers, also when starting in the
 * middle of an epoch. */
static void shards_are_read_in_turn(void **state)
{
    char *src = make_classes(), *dst = make_temp_dir();
    struct dataset *a = open_source(src, false), *b;
    enum { EPOCHS = 4 };
    int64_t want[EPOCHS][PACK_IMAGES], got[PACK_IMAGES];
    int orders = 0;

    (void)state;
    pack_to("tar", a, dst, SHARD, NULL);
    b = open_packed(pack_find("tar"), dst, false);
    for (int workers = 0; workers < 3; workers++) {
        struct loader_options o = {.transform = transform_for_training(SIDE),
                                   .batch = 5,
                                   .workers = workers,
                                   .shuffle = true,
                                   .shuffle_shards = 1};
        struct loader *l = loader_open(b, &o);
        int changes = 0, seen[PACK_IMAGES] = {0};

        for (uint64_t e = 0; e < EPOCHS; e++) {
            assert_int_equal(epoch_samples(l, e, 0, got), PACK_IMAGES);
            if (workers == 0)
                memcpy(want[e], got, sizeof(got));
            assert_memory_equal(want[e], got, sizeof(got));
            for (int i = 0; i < PACK_IMAGES; i += SHARD)
                orders += got[i] / SHARD != want[0][i] / SHARD;
        }
        assert_memory_not_equal(want[0], want[1], sizeof(got));
        for (int i = 0; i < PACK_IMAGES; i++) {
            seen[got[i]]++;
            changes += i > 0 && got[i] / SHARD != got[i - 1] / SHARD;
        }
        for (int i = 0; i < PACK_IMAGES; i++)
            assert_int_equal(seen[i], 1);
        assert_int_equal(changes, PACK_IMAGES / SHARD);
        assert_int_equal(epoch_samples(l, 0, 2, got), PACK_IMAGES - 10);
        assert_memory_equal(got, &want[0][10], (PACK_IMAGES - 10) * sizeof(*got));
        loader_close(l);
    }
    assert_true(orders > 0); /* of the shards */
    dataset_close(a);
    dataset_close(b);
    remove_temp_dir(src);
    remove_temp_dir(dst);
}

/* Every container can be the source of every other. */
static void containers_are_packed_again(void **state)
{
    char *src = make_label_maps(), *tar = make_temp_dir();
    struct dataset *a = open_source(src, true), *b;

    (void)state;
    pack_to("tar", a, tar, 0, NULL);
    b = open_packed(pack_find("tar"), tar, true);
    for (const struct pack_format *const *f = pack_table; *f; f++) {
        char *dst = make_temp_dir();
        struct dataset *c;

        pack_to((*f)->name, b, dst, 0, NULL);
        c = open_packed(*f, dst, true);
        same_data(a, c, (*f)->decodes);
        dataset_close(c);
        remove_temp_dir(dst);
    }
    dataset_close(a);
    dataset_close(b);
    remove_temp_dir(src);
    remove_temp_dir(tar);
}

static char *read_whole(const char *dir, const char *name, size_t *len)
{
    char *path = path_join(dir, name), *text = file_read(path, len);

    free(path);
    return text;
}

/* Complete containers are kept; missing ones are written again with the same bytes. */
static void a_stopped_run_goes_on(void **state)
{
    char *src = make_classes(), *dst = make_temp_dir(), *path, *old, *new;
    struct dataset *a = open_source(src, false);
    struct pack_result r;
    size_t old_len, new_len;

    (void)state;
    pack_to("tar", a, dst, SHARD, NULL);
    old = read_whole(dst, "train-000002.tar", &old_len);
    path = path_join(dst, "train-000002.tar");
    assert_int_equal(unlink(path), 0);
    make_file(dst, ".packing/train-000002.tar", "half", 4); /* left by a killed run */
    r = pack_to("tar", a, dst, SHARD, NULL);
    assert_int_equal(r.samples, SHARD);
    assert_int_equal(r.kept, PACK_IMAGES - SHARD);
    new = read_whole(dst, "train-000002.tar", &new_len);
    assert_int_equal(new_len, old_len);
    assert_memory_equal(new, old, old_len);
    free(path);
    path = path_join(dst, ".packing");
    assert_false(file_exists(path));
    free(path);
    free(old);
    free(new);
    dataset_close(a);
    remove_temp_dir(src);
    remove_temp_dir(dst);
}

/* Shrinks images and their label maps. */
static void images_are_made_smaller(void **state)
{
    struct pack_encoding how = {.size = 20, .quality = 80, .filter = RESIZE_BICUBIC};
    char *src = make_label_maps(), *dst = make_temp_dir();
    struct dataset *a = open_source(src, true), *b;
    struct image_limits limits = image_limits_or_default(NULL);
    struct image_decoder *d = image_decoder_new(NULL);
    struct dataset_bytes bytes = {0};
    struct label_reader r = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    pack_to("tar", a, dst, 0, &how);
    b = open_packed(pack_find("tar"), dst, true);
    for (int64_t i = 0; i < b->n; i++) {
        int w, h, sw = 30 + (int)(i % 5) * 12, sh = 26 + (int)(i % 4) * 14;

        assert_int_equal(dataset_read(b, i, LIMIT, &bytes, &why), 0);
        assert_string_equal(image_extension_of(bytes.data, bytes.len), ".jpg");
        assert_int_equal(image_decoder_open(d, bytes.data, bytes.len, &w, &h, &why), 0);
        assert_int_equal(w, sw < sh ? 20 : 20 * sw / sh);
        assert_int_equal(h, sw < sh ? 20 * sh / sw : 20);
        assert_int_equal(dataset_label_map(b, i, &limits, &bytes, &r, &why), 0);
        assert_int_equal(r.w, w);
        assert_int_equal(r.h, h);
    }
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
    image_decoder_free(d);
    dataset_close(a);
    dataset_close(b);
    remove_temp_dir(src);
    remove_temp_dir(dst);
}

/* Lossy images become JPEGs, all others PNGs; small images keep their bytes. */
static void a_source_says_how_it_is_encoded(void **state)
{
    static const struct {
        const char *name, *ending;
    } images[] = {
        {"gray.png", ".png"},          {"jpeg.tif", ".jpg"},    {"lossless.webp", ".png"},
        {"lossy.j2k", ".jpg"},         {"lossy.webp", ".jpg"},  {"moving.webp", ".png"},
        {"moving_lossy.webp", ".jpg"}, {"palette.gif", ".png"}, {"rgb.avif", ".jpg"},
        {"rgb.jp2", ".png"},           {"rgb.jpg", ".jpg"},     {"rgb.tif", ".png"},
    };
    enum { N = sizeof(images) / sizeof(images[0]) };
    static const int sizes[] = {8, 4096};

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct pack_encoding how = {.size = sizes[k], .filter = RESIZE_BICUBIC};
        char *src = make_temp_dir(), *dst = make_temp_dir();
        struct dataset_bytes bytes = {0}, was = {0};
        struct strbuf why = STRBUF_INIT;
        struct dataset *a, *b;

        for (int i = 0; i < N; i++) {
            char *path = path_join("tests/golden/image_decode", images[i].name);
            char *name = path_join("train/c", images[i].name);
            size_t len;
            char *data = file_read(path, &len);

            make_file(src, name, data, len);
            free(data);
            free(name);
            free(path);
        }
        a = open_source(src, false);
        assert_int_equal(pack_to("tar", a, dst, 0, &how).samples, N);
        b = open_packed(pack_find("tar"), dst, false);
        for (int i = 0; i < N; i++) {
            assert_int_equal(dataset_read(a, i, LIMIT, &was, &why), 0);
            assert_int_equal(dataset_read(b, i, LIMIT, &bytes, &why), 0);
            if (k)
                same_bytes(&was, &bytes);
            else
                assert_string_equal(image_extension_of(bytes.data, bytes.len),
                                    images[i].ending);
        }
        dataset_bytes_release(&was);
        dataset_bytes_release(&bytes);
        dataset_close(a);
        dataset_close(b);
        remove_temp_dir(src);
        remove_temp_dir(dst);
    }
}

/* Damaged samples are skipped; the others keep their order. */
static void damaged_samples_are_left_out(void **state)
{
    char *src = make_classes(), *dst = make_temp_dir();
    struct dataset *a, *b;
    struct pack_result r;

    (void)state;
    make_file(src, "train/class0/06.jpg", "a text", 6);
    a = open_source(src, false);
    r = pack_to("tar", a, dst, SHARD, NULL);
    assert_int_equal(r.left_out, 1);
    b = open_packed(pack_find("tar"), dst, false);
    assert_int_equal(b->n, a->n - 1);
    for (int64_t i = 0, k = 0; i < a->n; i++) {
        struct strbuf name = STRBUF_INIT;

        dataset_describe(a, i, &name);
        if (!strstr(name.buf, "class0/06.jpg"))
            same_sample(a, i, b, k++, false);
        strbuf_release(&name);
    }
    dataset_close(a);
    dataset_close(b);
    remove_temp_dir(src);
    remove_temp_dir(dst);
}

/* No format writes a container whose samples are all skipped. */
static void an_empty_container_is_not_written(void **state)
{
    char *src = make_classes();
    struct dataset *a, *b;

    (void)state;
    for (int i = 0; i < PACK_IMAGES; i += PACK_CLASSES) { /* all of class0 */
        char *name = xasprintf("train/class0/%02d.jpg", i);

        make_file(src, name, "a text", 6);
        free(name);
    }
    a = open_source(src, false);
    for (const struct pack_format *const *row = pack_table; *row; row++) {
        const struct pack_format *f = *row;
        int bad = (PACK_IMAGES + PACK_CLASSES - 1) / PACK_CLASSES;
        char *dst = make_temp_dir();
        struct pack_result r = pack_to(f->name, a, dst, bad, NULL);

        assert_int_equal(r.left_out, bad);
        assert_int_equal(r.samples, PACK_IMAGES - bad);
        assert_int_equal(r.containers, f->single_file ? 1 : 2);
        b = open_packed(f, dst, false);
        assert_int_equal(b->n, PACK_IMAGES - bad);
        same_sample(a, bad, b, 0, f->decodes);
        dataset_close(b);
        remove_temp_dir(dst);
    }
    dataset_close(a);
    remove_temp_dir(src);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_keep_everything),
        cmocka_unit_test(containers_are_packed_again),
        cmocka_unit_test(shards_are_read_in_turn),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(images_are_made_smaller),
        cmocka_unit_test(a_source_says_how_it_is_encoded),
        cmocka_unit_test(damaged_samples_are_left_out),
        cmocka_unit_test(an_empty_container_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
