/* Meanings of folder and file names: system files, roles, splits, common names. */
#include <stdlib.h>
#include <string.h>

#include "dataset/usual_names.h"
#include "tests/test.h"

static void entries_of_systems(void **state)
{
    static const char *const is[] = {"__MACOSX",  ".git",      "@eaDir",
                                     "Thumbs.db", ".DS_Store", ".ipynb_checkpoints"};
    static const char *const is_not[] = {"cat", "_cat", "MACOSX", "eaDir", "dogs.db"};

    (void)state;
    for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
        assert_true(usual_is_system(is[i]));
    for (size_t i = 0; i < sizeof(is_not) / sizeof(*is_not); i++)
        assert_false(usual_is_system(is_not[i]));
    assert_true(usual_path_is_system("train/__MACOSX/cat/1.jpg"));
    assert_true(usual_path_is_system("./train/.x/1.jpg"));
    assert_false(usual_path_is_system("./../train/cat/1.jpg"));
}

static void words_of_folders(void **state)
{
    static const struct {
        const char *path;
        enum usual_role role;
        enum usual_split split;
        const char *word, *rest;
    } row[] = {
        {"train/image", USUAL_IMAGES, USUAL_TRAIN, "train", ""},
        {"labels/val", USUAL_LABELS, USUAL_VAL, "val", ""},
        {"images_prepped_train", USUAL_IMAGES, USUAL_TRAIN, "train", " prepped"},
        {"annotations_prepped_test", USUAL_LABELS, USUAL_TEST, "test", " prepped"},
        {"trainannot", USUAL_LABELS, USUAL_TRAIN, "train", ""},
        {"train_masks", USUAL_LABELS, USUAL_TRAIN, "train", ""},
        {"ann_dir/Train2017", USUAL_LABELS, USUAL_TRAIN, "Train2017", " dir"},
        {"data/masks", USUAL_LABELS, USUAL_NO_SPLIT, "", ""},
        {"JPEGImages", USUAL_IMAGES, USUAL_NO_SPLIT, "", ""},
        {"GT", USUAL_LABELS, USUAL_NO_SPLIT, "", ""},
        {"cats", USUAL_OTHER, USUAL_NO_SPLIT, "", " cats"},
        {"with_mask", USUAL_LABELS, USUAL_NO_SPLIT, "", " with"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct usual_words w;

        assert_true(usual_words_parse(row[i].path, &w));
        assert_int_equal(w.role, row[i].role);
        assert_int_equal(w.split, row[i].split);
        assert_string_equal(w.split_word, row[i].word);
        assert_string_equal(w.rest, row[i].rest);
    }
}

static void strange_folders_have_no_role(void **state)
{
    struct usual_words w;
    char path[300];

    (void)state;
    memset(path, 'a', sizeof(path));
    memcpy(path, "masks/", 6);
    path[sizeof(path) - 1] = '\0';
    assert_false(usual_words_parse(path, &w));
    assert_int_equal(w.role, USUAL_OTHER);
    assert_false(usual_words_parse("train/val/masks", &w));
    assert_true(usual_words_parse("", &w));
    assert_true(usual_words_parse("///", &w));
}

static void stems(void **state)
{
    static const struct {
        const char *path, *stem;
        enum usual_role role;
    } row[] = {
        {"masks/a_mask.png", "a", USUAL_LABELS},
        {"a_GT.tif", "a", USUAL_LABELS},
        {"a.seg.png", "a", USUAL_LABELS},
        {"a (1)-segmentation.png", "a (1)", USUAL_LABELS},
        {"104_sat.jpg", "104", USUAL_IMAGES},
        {"b/0001TP_006690_L.png", "0001TP_006690", USUAL_LABELS},
        {"x_l.jpg", "x_l", USUAL_OTHER},
        {"x-L.jpg", "x-L", USUAL_OTHER},
        {"n_gtFine_labelIds.png", "n", USUAL_LABELS},
        {"_mask.png", "_mask", USUAL_OTHER},
        {"image_12.jpg", "12", USUAL_IMAGES},
        {"gt_img_12.png", "12", USUAL_LABELS},
        {"Mask_12_mask.png", "12", USUAL_LABELS},
        {"mask_.png", "mask_", USUAL_OTHER},
        {"imagery.png", "imagery", USUAL_OTHER},
        {"unmask.png", "unmask", USUAL_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        enum usual_role role;
        char *s = usual_stem(row[i].path, &role);

        assert_string_equal(s, row[i].stem);
        assert_int_equal(role, row[i].role);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_systems),
        cmocka_unit_test(words_of_folders),
        cmocka_unit_test(strange_folders_have_no_role),
        cmocka_unit_test(stems),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
