/* Class folders as in torchvision's ImageFolder, class lists, synthetic images. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "image/image.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static void folder_finds_classes_and_files(void **state)
{
    char *dir = make_temp_dir(), *slash = xasprintf("%s/", dir);
    static const char *const want[] = {
        "B/1.JPG",         "a/10.png",      "a/2.jpeg",
        "a/deep/er/x.ppm", "class10/0.bmp", "class10/1.webp",
        "class2/0.gif",    "class2/1.tif",  "class2/2.TIFF"};
    static const int label[] = {0, 1, 1, 1, 2, 2, 3, 3, 3};
    struct strbuf name = STRBUF_INIT, why = STRBUF_INIT;
    struct dataset_bytes bytes = {0};
    struct dataset *d;

    (void)state;
    for (size_t i = 0; i < 9; i++)
        make_file(dir, want[i], want[i], strlen(want[i]));
    make_file(dir, ".ipynb_checkpoints/x.jpg", "", 0);
    make_file(dir, "__MACOSX/a/._2.jpeg", "", 0); /* as in zips made on a Mac */
    make_file(dir, "@eaDir/2.jpeg", "", 0);
    make_file(dir, "a/@eaDir/2.jpeg/SYNOFILE_THUMB_M.jpg", "", 0);
    make_file(dir, "a/Thumbs.db", "", 0);
    make_file(dir, "a/.hidden.jpg", "", 0);
    make_file(dir, "a/notes.txt", "", 0);
    make_file(dir, "stray.jpg", "", 0);
    d = open_folder(slash);
    assert_int_equal(d->nclass, 4);
    assert_string_equal(d->class_name[0],
                        "B"); /* in byte order: capitals first, 10 before 2 */
    assert_string_equal(d->class_name[2], "class10");
    assert_int_equal(d->n, 9);
    for (int64_t i = 0; i < 9; i++) {
        strbuf_reset(&name);
        dataset_describe(d, i, &name);
        assert_string_equal(name.buf + strlen(dir) + 1, want[i]);
        assert_int_equal(dataset_label(d, i), label[i]);
        assert_int_equal(dataset_read(d, i, 1000, &bytes, &why), 0);
        assert_int_equal(bytes.len, strlen(want[i]));
        assert_memory_equal(bytes.data, want[i], bytes.len);
    }
    assert_int_equal(dataset_read(d, 0, 3, &bytes, &why), -1);
    assert_string_equal(why.buf, "7 bytes, more than the limit of 3");
    strbuf_reset(&why);
    remove_temp_dir(dir);
    assert_int_equal(dataset_read(d, 0, 1000, &bytes, &why), -1);
    assert_non_null(strstr(why.buf, "No such file"));
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&name);
    strbuf_release(&why);
    free(slash);
}

static void open_and_leave(void *dir)
{
    dataset_close(open_folder(dir));
}

static void folder_mistakes_are_named(void **state)
{
    char *dir = make_temp_dir(), nowhere[] = "/nonexistent/train";

    (void)state;
    check_dies(open_and_leave, nowhere, "cannot open '/nonexistent/train'");
    check_dies(open_and_leave, dir, "has no class folders");
    make_image(dir, "caf\xe9/1.jpg", 8, 8, 0);
    check_dies(open_and_leave, dir, "the class name is not valid UTF-8");
    remove_temp_dir(dir);
    dir = make_temp_dir();
    make_image(dir, "cat/1.jpg", 8, 8, 0);
    make_file(dir, "dog/readme.txt", "", 0);
    make_file(dir, "cow/.x.jpg", "", 0);
    check_dies(open_and_leave, dir, "no images in the class folders 'cow', 'dog'");
    check_dies(open_and_leave, dir, "such as 'dog/readme.txt'"); /* existing folders */
    remove_temp_dir(dir);
}

/* A dangling link counts as an unreadable image. */
static void folder_counts_dead_links(void **state)
{
    char *dir = make_temp_dir(), *link = xasprintf("%s/a/dead.jpg", dir);
    struct strbuf name = STRBUF_INIT, why = STRBUF_INIT;
    struct dataset_bytes bytes = {0};
    struct dataset *d;

    (void)state;
    make_file(dir, "a/1.jpg", "x", 1);
    assert_int_equal(symlink("/nowhere/at/all.jpg", link), 0);
    d = open_folder(dir);
    assert_int_equal(d->n, 2);
    dataset_describe(d, 1, &name);
    assert_non_null(strstr(name.buf, "a/dead.jpg"));
    assert_int_equal(dataset_read(d, 1, 1000, &bytes, &why), -1);
    assert_non_null(strstr(why.buf, "No such file"));
    remove_temp_dir(dir);
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&name);
    strbuf_release(&why);
    free(link);
}

static void folder_follows_links_but_not_for_ever(void **state)
{
    char *dir = make_temp_dir(), *link = path_join(dir, "data/a/link");
    char *up = path_join(dir, "data/a/up"), *data = path_join(dir, "data");
    struct dataset *d;

    (void)state;
    make_image(dir, "data/a/1.jpg", 8, 8, 0);
    make_image(dir, "elsewhere/2.jpg", 8, 8, 0);
    assert_int_equal(symlink("../../elsewhere", link), 0);
    d = open_folder(data);
    assert_int_equal(d->n, 2);
    dataset_close(d);
    assert_int_equal(symlink(".", up), 0);
    check_dies(open_and_leave, data, "folders deep");
    free(link);
    free(up);
    free(data);
    remove_temp_dir(dir);
}

static void class_lists_are_compared(void **state)
{
    static const char *const abc[] = {"a", "b", "c"}, *const acd[] = {"a", "c", "d"},
                             *const cab[] = {"c", "a", "b"};
    static const char *const many[] = {"1", "2", "3", "4", "5", "6", "7"};
    char name[1000] = {0};
    const char *const endless = memset(name, 'x', sizeof(name) - 1);
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_true(dataset_same_classes("train", abc, 3, "val", abc, 3, &why));
    assert_int_equal(why.len, 0);
    assert_false(dataset_same_classes("train", abc, 3, "val", acd, 3, &why));
    assert_string_equal(why.buf,
                        "the classes of train (3) and of val (3) differ: only train "
                        "has 'b'; only val has 'd'");
    strbuf_reset(&why);
    assert_false(dataset_same_classes("train", &endless, 1, "val", abc, 3, &why));
    assert_true(why.len < 300);
    strbuf_reset(&why);
    assert_false(dataset_same_classes("train", abc, 2, "val", abc, 3, &why));
    assert_string_equal(why.buf,
                        "the classes of train (2) and of val (3) differ: only val "
                        "has 'c'");
    strbuf_reset(&why);
    assert_false(dataset_same_classes("the checkpoint", abc, 3, "train", cab, 3, &why));
    assert_non_null(strstr(why.buf, "the names are the same but in another order"));
    strbuf_reset(&why);
    assert_false(dataset_same_classes("train", many, 7, "val", abc, 1, &why));
    assert_non_null(strstr(why.buf, "only train has '1', '2', '3', '4', '5' and 2 more"));
    strbuf_release(&why);
}

/* A sample is a function of split and index; its mean color depends on its class. */
static void synthetic_has_no_files(void **state)
{
    const struct dataset_source o = {.split = "train",
                                     .samples = 7,
                                     .labels = {.classes = 3},
                                     .width = 16,
                                     .height = 16};
    struct dataset_source other = o;
    struct dataset_bytes a = {0}, b = {0};
    struct strbuf why = STRBUF_INIT;
    struct dataset *d = dataset_open("synthetic", &o), *e;
    double mean[7] = {0};

    (void)state;
    other.number = 1;
    other.samples = 100;
    e = dataset_open("synthetic", &other);
    assert_int_equal(d->n, 7);
    assert_int_equal(d->nclass, 3);
    assert_string_equal(d->class_name[2], "class000002");
    for (int i = 0; i < 7; i++) {
        assert_int_equal(dataset_label(d, i), i % 3);
        assert_int_equal(dataset_read(d, i, 1000, &a, &why), 0);
        assert_int_equal(dataset_read(e, i, 1000, &b, &why), 0);
        assert_int_equal(a.len, 13 + 16 * 16 * 3);
        assert_memory_equal(a.data, "P6 16 16 255\n", 13);
        assert_memory_not_equal(a.data, b.data, a.len);
        for (size_t k = 13; k < a.len; k++)
            mean[i] += a.data[k] / 768.0;
    }
    for (int i = 3; i < 7; i++)
        assert_true(mean[i] > mean[i - 3] - 8 && mean[i] < mean[i - 3] + 8);
    assert_true(mean[0] < mean[1] - 8 || mean[0] > mean[1] + 8);
    assert_int_equal(dataset_read(d, 6, 1000, &b, &why), 0);
    assert_memory_equal(a.data, b.data, a.len);
    assert_int_equal(dataset_read(d, 0, 700, &a, &why), -1);
    assert_non_null(strstr(why.buf, "more than DATA.MAX_BYTES"));
    strbuf_release(&why);
    dataset_bytes_release(&a);
    dataset_bytes_release(&b);
    dataset_close(d);
    dataset_close(e);
}

/* Channels other than gray and RGB: the decoder returns the bytes after the header. */
static void synthetic_has_any_channels(void **state)
{
    static const int channels[] = {2, 4, 32};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (size_t k = 0; k < sizeof(channels) / sizeof(*channels); k++) {
        const struct dataset_source o = {.split = "train",
                                         .samples = 2,
                                         .labels = {.classes = 2},
                                         .width = 5,
                                         .height = 3,
                                         .channels = channels[k]};
        struct dataset *d = dataset_open("synthetic", &o);
        struct image_decoder *decoder = image_decoder_new(NULL);
        struct dataset_bytes bytes = {0};
        struct image img = {0};
        size_t n = (size_t)(15 * channels[k]);
        int w, h;

        image_decoder_channels(decoder, channels[k]);
        assert_int_equal(dataset_read(d, 1, 1000, &bytes, &why), 0);
        assert_int_equal(image_decoder_open(decoder, bytes.data, bytes.len, &w, &h, &why),
                         0);
        assert_int_equal(w, 5);
        assert_int_equal(h, 3);
        if (image_decoder_read(decoder, NULL, &img, &why) < 0)
            fail_msg("%s", why.buf);
        assert_int_equal(img.channels, channels[k]);
        assert_memory_equal(img.pixel, bytes.data + bytes.len - n, n);
        image_release(&img);
        image_decoder_free(decoder);
        dataset_bytes_release(&bytes);
        dataset_close(d);
    }
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_finds_classes_and_files),
        cmocka_unit_test(folder_mistakes_are_named),
        cmocka_unit_test(folder_counts_dead_links),
        cmocka_unit_test(folder_follows_links_but_not_for_ever),
        cmocka_unit_test(class_lists_are_compared),
        cmocka_unit_test(synthetic_has_no_files),
        cmocka_unit_test(synthetic_has_any_channels),
    };

    return cmocka_run_group_tests_name("dataset", tests, NULL, NULL);
}
