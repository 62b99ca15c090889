/* DATA.DATASET pairs: pairs of folders and of files. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/folder_pairs.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static void make_pair(const char *dir, const char *image, const char *label)
{
    static const uint8_t value[6];

    make_image(dir, image, 3, 2, 1);
    make_label(dir, label, 3, 2, value);
}

/* Checks "IMAGE LABEL\n" for each sample of the split, relative to dir. */
static char *samples_of(const char *dir, const char *split)
{
    struct dataset_source s = {.path = dir, .split = split, .labels = {.classes = 2}};
    struct dataset *d = dataset_open("pairs", &s);
    struct strbuf out = STRBUF_INIT;

    assert_true(dataset_has_labels(d));
    for (int64_t i = 0; i < d->n; i++)
        strbuf_addf(&out, "%s %s\n", d->type->name(d, i), d->type->label_name(d, i));
    dataset_close(d);
    return strbuf_detach(&out);
}

static void check_samples(const char *dir, const char *split, const char *want)
{
    char *found = samples_of(dir, split);

    assert_string_equal(found, want);
    free(found);
}

static void names_join_folders_and_files(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    make_pair(dir, "images/train/b.jpg", "labels/train/b_mask.png");
    make_pair(dir, "images/train/a_img.jpg", "labels/train/a_seg.png");
    make_pair(dir, "images/train/deep/a.jpg", "labels/train/deep/a.png");
    make_pair(dir, "images/val/c.jpg", "labels/val/c_L.png");
    make_file(dir, "images/train/.b.jpg", "", 0);
    make_file(dir, "labels/__MACOSX/train/b.png", "", 0);
    check_samples(dir, "train",
                  "images/train/a_img.jpg labels/train/a_seg.png\n"
                  "images/train/b.jpg labels/train/b_mask.png\n"
                  "images/train/deep/a.jpg labels/train/deep/a.png\n");
    check_samples(dir, "val", "images/val/c.jpg labels/val/c_L.png\n");
    remove_temp_dir(dir);
}

/* An exact name wins over one with a suffix: a.png belongs to a, and a_mask.png to no
 * image. */
static void same_names_come_first(void **state)
{
    char *dir = make_temp_dir();
    struct folder_pairs f;

    (void)state;
    make_pair(dir, "images/a.jpg", "masks/a_mask.png");
    make_pair(dir, "images/b.jpg", "masks/a.png");
    check_samples(dir, "", "images/a.jpg masks/a.png\n");
    assert_true(folder_pairs_find(&f, dir, ""));
    assert_int_equal(f.nimages, 2);
    assert_int_equal(f.nlabels, 2);
    assert_int_equal(f.matched, 1);
    assert_int_equal(f.others, 0);
    folder_pairs_release(&f);
    assert_false(folder_pairs_find(&f, dir, "train"));
    remove_temp_dir(dir);
}

static void folders_with_more_pairs_win(void **state)
{
    char *dir = make_temp_dir();
    struct folder_pairs f;

    (void)state;
    make_pair(dir, "images/a.jpg", "annotations/a.png");
    make_pair(dir, "images/b.jpg", "masks/a.png");
    make_pair(dir, "data/x.jpg", "masks/b.png");
    assert_true(folder_pairs_find(&f, dir, ""));
    assert_string_equal(f.images, "images");
    assert_string_equal(f.labels, "masks");
    assert_int_equal(f.others, 1);
    folder_pairs_release(&f);
    remove_temp_dir(dir);
}

static void images_of_a_split_alone(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    make_pair(dir, "train/a.jpg", "train_masks/a_mask.png");
    make_image(dir, "train/thumbs/a.jpg", 3, 2, 1); /* in a subfolder of train */
    check_samples(dir, "train", "train/a.jpg train_masks/a_mask.png\n");
    remove_temp_dir(dir);
}

static void label_maps_next_to_images(void **state)
{
    char *dir = make_temp_dir();
    struct folder_pairs f;

    (void)state;
    make_pair(dir, "train/b/a_sat.jpg", "train/b/a_mask.png");
    make_pair(dir, "train/a.jpg", "train/a-label.png");
    make_pair(dir, "val/img_1.jpg", "val/mask_1.png");
    make_pair(dir, "val/x.jpg", "val/y_gt.png");
    make_pair(dir, "odd_test/x.jpg", "odd_test/x_gt.png");
    check_samples(dir, "train",
                  "train/a.jpg train/a-label.png\n"
                  "train/b/a_sat.jpg train/b/a_mask.png\n");
    check_samples(dir, "val", "val/img_1.jpg val/mask_1.png\n");
    check_samples(dir, "",
                  "odd_test/x.jpg odd_test/x_gt.png\n"
                  "train/a.jpg train/a-label.png\n"
                  "train/b/a_sat.jpg train/b/a_mask.png\n"
                  "val/img_1.jpg val/mask_1.png\n");
    assert_true(folder_pairs_find(&f, dir, "train"));
    assert_string_equal(f.images, "train");
    assert_string_equal(f.labels, "train");
    assert_int_equal(f.nimages, 2);
    assert_int_equal(f.others, 0);
    folder_pairs_release(&f);
    assert_false(folder_pairs_find(&f, dir, "test"));
    remove_temp_dir(dir);
}

/* Names such as a_mask.png need an image a, and enough of them. */
static void images_of_masks_are_no_label_maps(void **state)
{
    static const char *const name[] = {
        "cat/a.jpg",     "cat/b_mask.jpg", "cat/c.jpg", "dog/a_mask.jpg", "dog/b.jpg",
        "dog/c_seg.jpg", "dog/d.jpg",      "dog/e.jpg", "dog/f_gt.jpg"};
    char *dir = make_temp_dir();
    struct folder_pairs f;

    (void)state;
    for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
        make_image(dir, name[i], 3, 2, 1);
    assert_false(folder_pairs_find(&f, dir, ""));
    assert_false(folder_pairs_probe(dir, ""));
    make_image(dir, "dog/c.jpg", 3, 2, 1); /* one of three */
    assert_false(folder_pairs_probe(dir, ""));
    make_image(dir, "dog/a.jpg", 3, 2, 1);
    assert_true(folder_pairs_probe(dir, ""));
    make_image(dir, "dog/g.jpg", 3, 2, 1); /* two of nine images */
    assert_false(folder_pairs_probe(dir, ""));
    remove_temp_dir(dir);
}

static void open_classes(void *dir)
{
    struct dataset_source s = {.path = dir, .split = ""};

    dataset_close(dataset_open("folder", &s));
}

static void classes_with_label_maps_warn(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    make_pair(dir, "benign/a.jpg", "benign/a_mask.png");
    check_leaves(open_classes, dir, 0, "read as images of their class; for segmentation");
    check_samples(dir, "", "benign/a.jpg benign/a_mask.png\n");
    remove_temp_dir(dir);
}

static void open_all(void *dir)
{
    struct dataset_source s = {.path = dir, .split = "", .labels = {.classes = 2}};

    dataset_close(dataset_open("pairs", &s));
}

static void mistakes_are_named(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    check_dies(open_all, dir, "has no pair of image and label map folders, such as");
    make_pair(dir, "images/a.jpg", "masks/b.png");
    check_dies(open_all, dir,
               "no image of the split '' has a label map with a matching name");
    make_pair(dir, "images/b.jpg", "masks/c.png");
    check_leaves(open_all, dir, 0,
                 "images': skipping images without a label map in masks (1 of 2)");
    check_leaves(open_all, dir, 0, "label maps without an image in images (1 of 2)");
    make_image(dir, "images/b.png", 3, 2, 1);
    check_dies(
        open_all, dir,
        "the label map 'masks/b.png' matches two images by name: 'b.jpg' and 'b.png'");
    remove_file(dir, "images/b.png");
    make_image(dir, "masks/a.jpg", 3, 2, 1);
    check_dies(open_all, dir,
               "label maps cannot be JPEG files, whose lossy compression changes class "
               "values (1 of 2, such as 'masks/a.jpg')");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_join_folders_and_files),
        cmocka_unit_test(same_names_come_first),
        cmocka_unit_test(folders_with_more_pairs_win),
        cmocka_unit_test(images_of_a_split_alone),
        cmocka_unit_test(label_maps_next_to_images),
        cmocka_unit_test(images_of_masks_are_no_label_maps),
        cmocka_unit_test(classes_with_label_maps_warn),
        cmocka_unit_test(mistakes_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
