/* Segmentation samples: folders of Cityscapes and VOC, list files, errors. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/class_set.h"
#include "dataset/label.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static const uint8_t seven[6] = {7, 8, 11, 33, 0, 255};

static struct label_options cityscapes19(void)
{
    return (struct label_options){.set = class_set_find("cityscapes19"), .classes = 19};
}

static void make_city(const char *dir, const char *city, const char *name)
{
    char *image = xasprintf("leftImg8bit/train/%s/%s_leftImg8bit.png", city, name);
    char *ids = xasprintf("gtFine/train/%s/%s_gtFine_labelIds.png", city, name);
    char *train = xasprintf("gtFine/train/%s/%s_gtFine_labelTrainIds.png", city, name);
    char *color = xasprintf("gtFine/train/%s/%s_gtFine_color.png", city, name);

    make_image(dir, image, 3, 2, 0);
    make_label(dir, ids, 3, 2, seven);
    make_label(dir, train, 3, 2, (const uint8_t[]){0, 1, 2, 18, 255, 255});
    make_label(dir, color, 3, 2, seven);
    free(image);
    free(ids);
    free(train);
    free(color);
}

static void cityscapes_joins_by_name(void **state)
{
    char *dir = make_temp_dir();
    struct label_options o = cityscapes19();

    (void)state;
    make_city(dir, "zurich", "zurich_000001_000019");
    make_city(dir, "aachen", "aachen_000002_000019");
    make_city(dir, "aachen", "aachen_000001_000019");
    for (int pass = 0; pass < 2; pass++) {
        struct dataset *d;
        struct strbuf s = STRBUF_INIT;
        struct label_reader r = {0};
        struct dataset_bytes bytes = {0};
        struct image_limits limits = image_limits_or_default(NULL);
        char *want = xasprintf("%s/gtFine/train/zurich/zurich_000001_000019_gtFine_%s",
                               dir, pass ? "labelTrainIds.png" : "labelIds.png");

        o.train_ids = pass;
        d = open_labels("cityscapes", dir, &o);
        assert_int_equal(d->n, 3);
        assert_int_equal(d->nclass, 19);
        assert_string_equal(d->class_name[18], "bicycle");
        assert_true(dataset_has_labels(d));
        dataset_describe(d, 0, &s);
        assert_non_null(strstr(s.buf, "/aachen/aachen_000001_000019_leftImg8bit.png"));
        strbuf_reset(&s);
        dataset_describe_label(d, 2, &s);
        assert_string_equal(s.buf, want);
        strbuf_reset(&s);
        assert_int_equal(dataset_label_map(d, 2, &limits, &bytes, &r, &s), 0);
        assert_memory_equal(r.pixel, ((uint8_t[]){0, 1, 2, 18, 255, 255}), 6);
        strbuf_release(&s);
        label_reader_release(&r);
        dataset_bytes_release(&bytes);
        dataset_close(d);
        free(want);
    }
    remove_temp_dir(dir);
}

static void open_cityscapes(void *dir)
{
    struct label_options o = cityscapes19();

    dataset_close(open_labels("cityscapes", dir, &o));
}

static void cityscapes_mistakes(void **state)
{
    char *dir = make_temp_dir(), *gone;

    (void)state;
    check_dies(open_cityscapes, dir, "not found: Cityscapes needs");
    check_dies(open_cityscapes, dir,
               "leftImg8bit/train' not found: Cityscapes needs leftImg8bit");
    make_city(dir, "aachen", "a_1");
    make_city(dir, "aachen", "a_2");
    make_city(dir, "bonn", "b_1");
    make_city(dir, "bonn", "b_2");
    gone = path_join(dir, "gtFine/train/bonn/b_1_gtFine_labelIds.png");
    assert_int_equal(remove(gone), 0);
    check_dies(open_cityscapes, dir,
               "leftImg8bit/train': 'bonn/b_1_gtFine_labelIds.png'");
    free(gone);
    gone = path_join(dir, "leftImg8bit/train/bonn/b_1_leftImg8bit.png");
    assert_int_equal(remove(gone), 0);
    open_cityscapes(dir);
    free(gone);
    gone = path_join(dir, "leftImg8bit/train/aachen/a_1_leftImg8bit.png");
    assert_int_equal(remove(gone), 0);
    check_dies(open_cityscapes, dir, "'aachen/a_1_leftImg8bit.png'");
    free(gone);
    remove_temp_dir(dir);
}

static void make_text(const char *dir, const char *path, const char *text)
{
    make_file(dir, path, text, strlen(text));
}

static struct dataset *open_camvid(const char *dir)
{
    struct label_options o = {.set = class_set_find("camvid11"), .classes = 11};

    return open_labels("list", dir, &o);
}

static void open_list(void *dir)
{
    dataset_close(open_camvid(dir));
}

static void check_names(const char *dir, int64_t i, const char *image, const char *label)
{
    struct dataset *d = open_camvid(dir);
    struct strbuf s = STRBUF_INIT, want = STRBUF_INIT;

    strbuf_addf(&want, "%s/%s", dir, image);
    dataset_describe(d, i, &s);
    assert_string_equal(s.buf, want.buf);
    strbuf_reset(&want);
    strbuf_reset(&s);
    strbuf_addf(&want, "%s/%s", dir, label);
    dataset_describe_label(d, i, &s);
    assert_string_equal(s.buf, want.buf);
    strbuf_release(&want);
    strbuf_release(&s);
    dataset_close(d);
}

static void make_files(const char *dir)
{
    static const char *const name[] = {"a", "b", "c", "with space"};

    for (int i = 0; i < 4; i++) {
        char *image = xasprintf("images/%s.jpg", name[i]);
        char *label = xasprintf("labels/%s_L.png", name[i]);

        make_image(dir, image, 3, 2, i);
        make_label(dir, label, 3, 2, (const uint8_t[]){0, 1, 2, 3, 11, 10});
        free(image);
        free(label);
    }
}

static void lists_are_read(void **state)
{
    char *dir = make_temp_dir(), *gone = path_join(dir, "train.txt");

    (void)state;
    make_files(dir);
    make_text(dir, "train.txt",
              "\xef\xbb\xbf# two\n\nimages/b.jpg   labels/b_L.png\r\n"
              "images/with space.jpg\tlabels/with space_L.png");
    check_names(dir, 0, "images/b.jpg (train.txt:3)", "labels/b_L.png (train.txt:3)");
    check_names(dir, 1, "images/with space.jpg (train.txt:4)",
                "labels/with space_L.png (train.txt:4)");
    make_text(dir, "trainImages.txt", "images/c.jpg\n#\nimages/with space.jpg\n");
    check_dies(open_list, dir,
               "has both train.txt and trainImages.txt: remove one of them");
    remove(gone);
    check_dies(open_list, dir,
               "expected train.txt, or trainImages.txt and trainLabels.txt");
    make_text(dir, "trainLabels.txt", "labels/c_L.png\nlabels/with space_L.png\n");
    check_names(dir, 1, "images/with space.jpg (trainImages.txt:3)",
                "labels/with space_L.png (trainLabels.txt:2)");
    free(gone);
    remove_temp_dir(dir);
}

static void open_voc(void *dir)
{
    struct label_options o = {.set = class_set_find("voc21"), .classes = 21};

    dataset_close(open_labels("voc", dir, &o));
}

static void voc_is_read(void **state)
{
    static const char *const name[] = {"2007_000032", "2007_000039"};
    char *dir = make_temp_dir(), *text = NULL;
    struct label_options o = {.set = class_set_find("voc21"), .classes = 21};
    struct image_limits limits = image_limits_or_default(NULL);
    struct strbuf s = STRBUF_INIT;
    struct label_reader r = {0};
    struct dataset_bytes bytes = {0};
    struct dataset *d;

    (void)state;
    check_dies(open_voc, dir, "ImageSets/Segmentation/train.txt', the list");
    for (int i = 0; i < 2; i++) {
        char *image = xasprintf("JPEGImages/%s.jpg", name[i]);
        char *label = xasprintf("SegmentationClass/%s.png", name[i]);

        make_image(dir, image, 3, 2, i);
        make_label(dir, label, 3, 2, (const uint8_t[]){0, 1, 20, 255, 15, (uint8_t)i});
        free(image);
        free(label);
    }
    make_text(dir, "ImageSets/Segmentation/train.txt", "\n");
    check_dies(open_voc, dir, "train.txt' names no images");
    make_text(dir, "ImageSets/Segmentation/train.txt", "2007_000039\n2007_000032\n");
    d = open_labels("voc", dir, &o);
    assert_int_equal(d->n, 2);
    assert_string_equal(d->class_name[20], "tvmonitor");
    dataset_describe(d, 0, &s);
    text = xasprintf("%s/JPEGImages/2007_000039.jpg (ImageSets/Segmentation/train.txt:1)",
                     dir);
    assert_string_equal(s.buf, text);
    assert_int_equal(dataset_label_map(d, 0, &limits, &bytes, &r, &s), 0);
    assert_memory_equal(r.pixel, ((uint8_t[]){0, 1, 20, 255, 15, 1}), 6);
    assert_int_equal(dataset_label_map(d, 1, &limits, &bytes, &r, &s), 0);
    assert_int_equal(r.pixel[5], 0);
    dataset_close(d);
    make_text(dir, "ImageSets/Segmentation/train.txt", "2007_000032\n\n2007_000033\n");
    check_dies(open_voc, dir,
               "train.txt:3: file 'JPEGImages/2007_000033.jpg' not found in");
    make_text(dir, "ImageSets/Segmentation/train.txt", "2007_000032 1\n");
    check_dies(open_voc, dir, "train.txt:1: expected a name such as 2007_000032");
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
    strbuf_release(&s);
    free(text);
    remove_temp_dir(dir);
}

/* Without a class set, the options name the classes. */
static void classes_are_named(void **state)
{
    static const char *const names[] = {"sky", "the road", "rest"};
    struct label_options o = {.classes = 3, .names = names};
    char *dir = make_temp_dir();
    struct dataset *d;

    (void)state;
    make_files(dir);
    make_text(dir, "train.txt", "images/a.jpg labels/a_L.png\n");
    d = open_labels("list", dir, &o);
    assert_int_equal(d->nclass, 3);
    for (int c = 0; c < 3; c++)
        assert_string_equal(d->class_name[c], names[c]);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void list_mistakes(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    check_dies(open_list, dir, "': expected train.txt, or");
    make_files(dir);
    make_text(dir, "train.txt", "# nothing\n");
    check_dies(open_list, dir, "train.txt' names no images");
    make_text(dir, "train.txt", "images/a.jpg labels/a_L.png\nimages/b.jpg\n");
    check_dies(open_list, dir, "train.txt:2: expected 'image label', not 'images/b.jpg'");
    make_text(dir, "train.txt", "images/with space.jpg labels/with space_L.png\n");
    check_dies(open_list, dir, "train.txt:1: expected 'image label'");
    make_text(dir, "train.txt",
              "images/a.jpg labels/a_L.png\nimages/b.jpg labels/x.png\n");
    check_dies(open_list, dir, "train.txt:2: file 'labels/x.png' not found in");
    /* shifted by one: the number of lines is right, the names are not */
    make_text(dir, "train.txt",
              "images/a.jpg labels/b_L.png\nimages/b.jpg labels/c_L.png\n");
    check_dies(open_list, dir,
               "train.txt:2: 'labels/c_L.png' is paired with 'images/b.jpg', but its "
               "label map by name, 'labels/b_L.png', is on line 1");
    make_text(dir, "train.txt", "images/a.jpg labels/b_L.png\n"); /* could be intended */
    open_list(dir);
    remove_temp_dir(dir);
}

static void open_ids(void *dir)
{
    struct label_options o = {.set = class_set_find("cityscapes19"), .classes = 19};

    dataset_close(open_labels("list", dir, &o));
}

static void open_train_ids(void *dir)
{
    struct label_options o = {
        .set = class_set_find("cityscapes19"), .classes = 19, .train_ids = true};

    dataset_close(open_labels("list", dir, &o));
}

static void names_tell_the_kind_of_labels(void **state)
{
    static const uint8_t pixel[6];
    char *dir = make_temp_dir();

    (void)state;
    make_files(dir);
    make_label(dir, "labels/a_labelTrainIds.png", 3, 2, pixel);
    make_label(dir, "labels/a_labelIds.png", 3, 2, pixel);
    make_text(dir, "train.txt", "images/a.jpg labels/a_labelTrainIds.png\n");
    check_leaves(open_ids, dir, 0, "names of 1 label maps end in _labelTrainIds");
    make_text(dir, "train.txt", "images/a.jpg labels/a_labelIds.png\n");
    check_leaves(open_train_ids, dir, 0, "names of 1 label maps end in _labelIds");
    remove_temp_dir(dir);
}

/* A file that exists but cannot be read is not reported as missing. */
static void unreadable_is_not_missing(void **state)
{
    char *dir = make_temp_dir(), *path = path_join(dir, "images/loop.jpg");

    (void)state;
    make_files(dir);
    assert_int_equal(symlink("loop.jpg", path), 0); /* a link to itself, because root can
                                                     * read every file */
    make_text(dir, "train.txt", "images/loop.jpg labels/a_L.png\n");
    check_dies(open_list, dir, "cannot read 'images/loop.jpg' below");
    free(path);
    remove_temp_dir(dir);
}

static void two_files_mistakes(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    make_files(dir);
    make_text(dir, "trainImages.txt", "images/a.jpg\nimages/b.jpg\nimages/c.jpg\n");
    make_text(dir, "trainLabels.txt", "labels/a_L.png\nlabels/c_L.png\n");
    check_dies(open_list, dir, "trainImages.txt' has 3 names, but '");
    check_dies(open_list, dir, "trainLabels.txt' has 2: lines must");
    make_text(dir, "trainLabels.txt",
              "labels/a_L.png\n#\nlabels/c_L.png\nlabels/b_L.png\n");
    check_dies(
        open_list, dir,
        "trainLabels.txt:3: 'labels/c_L.png' is paired with 'images/b.jpg', but its "
        "label map by name, 'labels/b_L.png', is on line 4: the lines may be shifted");
    remove_temp_dir(dir);
}

static void label_values_are_checked(void **state)
{
    char *dir = make_temp_dir();
    struct dataset *d;
    struct strbuf why = STRBUF_INIT, want = STRBUF_INIT;
    struct label_reader r = {0};
    struct dataset_bytes bytes = {0};
    struct image_limits limits = image_limits_or_default(NULL);

    (void)state;
    make_files(dir);
    make_label(dir, "labels/b_L.png", 3, 2, (const uint8_t[]){0, 1, 2, 3, 11, 12});
    make_text(dir, "train.txt",
              "images/a.jpg labels/a_L.png\nimages/b.jpg labels/b_L.png\n"
              "images/c.jpg images/c.jpg\n");
    d = open_camvid(dir);
    assert_int_equal(dataset_label_map(d, 0, &limits, &bytes, &r, &why), 0);
    assert_memory_equal(r.pixel, ((uint8_t[]){0, 1, 2, 3, 255, 10}), 6);
    assert_int_equal(dataset_label_map(d, 1, &limits, &bytes, &r, &why), -1);
    strbuf_addf(&want,
                "its label '%s/labels/b_L.png (train.txt:2)': the value 12 at pixel (x "
                "2, y 1) is not a class: camvid11 has 0 to 11 and 255; "
                "DATA.LABEL_MAP can change or ignore values",
                dir);
    assert_string_equal(why.buf, want.buf);
    strbuf_reset(&why);
    assert_int_equal(dataset_label_map(d, 2, &limits, &bytes, &r, &why), -1);
    assert_non_null(strstr(why.buf, "images/c.jpg (train.txt:3)': JPEG, which changes"));
    strbuf_release(&why);
    strbuf_release(&want);
    label_reader_release(&r);
    dataset_bytes_release(&bytes);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* A pipe among the images: the sample is an error, and nothing waits for a writer. */
static void pipes_are_refused(void **state)
{
    char *dir = make_temp_dir(), *pipe = path_join(dir, "a.png");
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    struct dataset *d;

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    make_text(dir, "train.txt", "a.png a.png\n");
    d = open_labels("list", dir, &(struct label_options){.classes = 2});
    assert_int_equal(dataset_read(d, 0, 1000, &bytes, &why), -1);
    assert_string_equal(why.buf, "not a file");
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    free(pipe);
    remove_temp_dir(dir);
}

/* Names match without suffixes: NAME_gtFine_labelIds and NAME_leftImg8bit. */
static void shifted_cityscapes_lists(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    for (int i = 0; i < 2; i++) {
        char *image = xasprintf("x_%d_leftImg8bit.png", i);
        char *label = xasprintf("x_%d_gtFine_labelIds.png", i);

        make_image(dir, image, 3, 2, i);
        make_label(dir, label, 3, 2, (const uint8_t[]){0, 1, 2, 3, 11, 10});
        free(image);
        free(label);
    }
    make_text(dir, "trainImages.txt", "x_0_leftImg8bit.png\nx_1_leftImg8bit.png\n");
    make_text(dir, "trainLabels.txt",
              "x_1_gtFine_labelIds.png\nx_0_gtFine_labelIds.png\n");
    check_dies(open_list, dir,
               "trainLabels.txt:1: 'x_1_gtFine_labelIds.png' is paired with");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cityscapes_joins_by_name),
        cmocka_unit_test(cityscapes_mistakes),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(voc_is_read),
        cmocka_unit_test(classes_are_named),
        cmocka_unit_test(list_mistakes),
        cmocka_unit_test(two_files_mistakes),
        cmocka_unit_test(names_tell_the_kind_of_labels),
        cmocka_unit_test(unreadable_is_not_missing),
        cmocka_unit_test(label_values_are_checked),
        cmocka_unit_test(shifted_cityscapes_lists),
        cmocka_unit_test(pipes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
