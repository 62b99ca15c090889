/* Every row of the table of storages, each on a tiny data set in its layout. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/schema.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

enum { SIDE = 8, IMAGES = 2, CLASSES = 3 };

static void make_pair(const char *dir, const char *image, const char *label)
{
    uint8_t value[SIDE * SIDE];

    memset(value, 1, sizeof(value));
    make_image(dir, image, SIDE, SIDE, 1);
    make_label(dir, label, SIDE, SIDE, value);
}

static void make_text(const char *dir, const char *name, const char *text)
{
    make_file(dir, name, text, strlen(text));
}

static void make_class_folders(const char *dir)
{
    make_image(dir, "train/cat/1.jpg", SIDE, SIDE, 1);
    make_image(dir, "train/dog/1.jpg", SIDE, SIDE, 2);
}

static void make_list(const char *dir)
{
    make_pair(dir, "train/1.jpg", "labels/1.png");
    make_pair(dir, "train/2.jpg", "labels/2.png");
    make_text(dir, "train/notes/readme.txt", "no class folder");
    make_text(dir, "train.txt",
              "# a pair\n\ntrain/1.jpg labels/1.png\ntrain/2.jpg labels/2.png\n");
}

static void make_class_list(const char *dir)
{
    make_image(dir, "images/1.jpg", SIDE, SIDE, 1);
    make_image(dir, "images/2.jpg", SIDE, SIDE, 2);
    make_text(dir, "train.txt", "images/1.jpg 2\nimages/2.jpg 0\n");
}

static void make_table(const char *dir)
{
    make_image(dir, "images/1.jpg", SIDE, SIDE, 1);
    make_image(dir, "images/2.jpg", SIDE, SIDE, 2);
    make_text(dir, "train.csv", "image,label\nimages/1.jpg,cat\nimages/2.jpg,dog\n");
}

static void make_cityscapes(const char *dir)
{
    make_pair(dir, "leftImg8bit/train/ulm/1_leftImg8bit.jpg",
              "gtFine/train/ulm/1_gtFine_labelIds.png");
    make_pair(dir, "leftImg8bit/train/bonn/1_leftImg8bit.jpg",
              "gtFine/train/bonn/1_gtFine_labelIds.png");
}

static void make_voc(const char *dir)
{
    make_pair(dir, "JPEGImages/1.jpg", "SegmentationClass/1.png");
    make_pair(dir, "JPEGImages/2.jpg", "SegmentationClass/2.png");
    make_text(dir, "ImageSets/Segmentation/train.txt", "1\n2\n");
}

static void make_folder_pairs(const char *dir)
{
    make_pair(dir, "images/train/1.jpg", "masks/train/1.png");
    make_pair(dir, "images/train/2.jpg", "masks/train/2.png");
}

static void make_cifar(const char *dir)
{
    static const uint8_t images[2][2 + 3072] = {{0, 0}, {0, 1}};

    make_file(dir, "train.bin", images, sizeof(images));
}

static void make_mnist(const char *dir)
{
    static const uint8_t images[16 + 2 * 64] = {0, 0, 8, 3, 0, 0, 0, 2,
                                                0, 0, 0, 8, 0, 0, 0, 8};

    make_file(dir, "train-images-idx3-ubyte", images, sizeof(images));
    make_file(dir, "train-labels-idx1-ubyte", "\0\0\10\1\0\0\0\2\0\1", 10);
}

/* Makes two images in the split "train" of each storage that has files. */
static const struct tiny {
    const char *name;
    void (*make)(const char *dir);
} tiny[] = {
    {"folder", make_class_folders},
    {"list", make_class_list},
    {"csv", make_table},
    {"cityscapes", make_cityscapes},
    {"voc", make_voc},
    {"pairs", make_folder_pairs},
    {"cifar", make_cifar},
    {"mnist", make_mnist},
};

/* Packs class folders as a container. */
static void make_container(const char *name, const char *dir)
{
    char *src = make_temp_dir();
    struct dataset_source s = {.path = src, .split = "train"};
    struct dataset *d;

    make_class_folders(src);
    d = dataset_open("folder", &s);
    pack_to(name, d, dir, 0, NULL);
    dataset_close(d);
    remove_temp_dir(src);
}

static void make_tiny(const struct storage *row, const char *dir)
{
    size_t n = sizeof(tiny) / sizeof(tiny[0]), i = 0;

    if (pack_find(row->name)) {
        make_container(row->name, dir);
        return;
    }

    while (i < n && strcmp(tiny[i].name, row->name) != 0)
        i++;
    if (i == n)
        fail_msg("no tiny data set of %s", row->name);
    tiny[i].make(dir);
}

static struct dataset_source source_of(const char *dir, bool label_maps)
{
    return (struct dataset_source){.path = dir,
                                   .split = "train",
                                   .labels = {.classes = CLASSES},
                                   .samples = IMAGES,
                                   .width = SIDE,
                                   .height = SIDE,
                                   .label_maps = label_maps};
}

/* Opens the data set and reads each sample. */
static void read_all(const struct storage *row, const struct dataset_source *s,
                     bool label_maps)
{
    struct strbuf why = STRBUF_INIT, name = STRBUF_INIT;
    struct dataset_bytes bytes = {0};
    struct dataset *d = row->open(s);

    assert_int_equal(d->n, IMAGES);
    assert_int_equal(dataset_has_labels(d), label_maps);
    assert_true(d->nclass > 0);
    for (int c = 0; c < d->nclass; c++)
        assert_non_null(d->class_name[c]);
    for (int64_t i = 0; i < d->n; i++) {
        strbuf_reset(&name);
        dataset_describe(d, i, &name);
        if (dataset_read(d, i, 1 << 20, &bytes, &why) < 0)
            fail_msg("%s: '%s': %s", row->name, name.buf, why.buf);
        assert_true(bytes.len > 0 && name.len > 0);
        assert_in_range(dataset_label(d, i), 0, d->nclass - 1);
        if (label_maps)
            assert_int_equal(dataset_read_label(d, i, 1 << 20, &bytes, &why), 0);
    }
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&name);
    strbuf_release(&why);
}

static void rows_are_whole(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (const struct storage *const *storage = storage_table; *storage; storage++) {
        const struct storage *row = *storage;

        assert_true(row->help && *row->help);
        assert_non_null(row->open);
        assert_int_equal(!row->probe, row->generated);
        assert_int_equal(!row->check, row->generated);
        assert_ptr_equal(storage_find(row->name), row); /* no earlier row has this name */
        for (const char *const *a = row->alias; *a; a++)
            assert_ptr_equal(storage_find(*a), row);
        for (const char *const *key = row->reads; key && *key; key++)
            assert_non_null(schema_find(schema_table, *key));
        assert_true(names_known(&storage_names, row->name, &why));
    }
    assert_int_equal(why.len, 0);
    assert_null(storage_find("imagenet2"));
    assert_false(names_known(&storage_names, "citiscapes", &why));
    for (const struct storage *const *storage = storage_table; *storage; storage++)
        assert_non_null(strstr(why.buf, (*storage)->name));
    assert_non_null(strstr(why.buf, "imagenet22K"));
    assert_non_null(strstr(why.buf, "not 'citiscapes' (did you mean cityscapes?)"));
    strbuf_release(&why);
}

/* Only its own row recognizes a data set, and messages name what is missing. */
static void files_are_of_one_storage(void **state)
{
    (void)state;
    for (const struct storage *const *storage = storage_table; *storage; storage++) {
        const struct storage *row = *storage;
        char *dir = make_temp_dir();
        struct dataset_source s = source_of(dir, false);
        struct strbuf why = STRBUF_INIT, guess = STRBUF_INIT;

        if (row->generated) {
            remove_temp_dir(dir);
            continue;
        }
        assert_false(row->probe(&s)); /* an empty folder */
        assert_false(row->check(&s, &why));
        assert_non_null(strstr(why.buf, dir));
        storage_add_guess(NULL, &s, &guess);
        assert_int_equal(guess.len, 0);
        make_tiny(row, dir);
        strbuf_reset(&why);
        if (!row->check(&s, &why))
            fail_msg("%s: %s", row->name, why.buf);
        for (const struct storage *const *other = storage_table; *other; other++)
            if ((*other)->probe && (*other)->probe(&s) != (*other == row))
                fail_msg("is a data set of %s one of %s?", row->name, (*other)->name);
        storage_add_guess(NULL, &s, &guess);
        assert_non_null(strstr(guess.buf, "looks like DATA.DATASET "));
        assert_non_null(strstr(guess.buf, row->name));
        strbuf_reset(&guess);
        storage_add_guess(row, &s, &guess);
        assert_int_equal(guess.len, 0);
        read_all(row, &s, row->labels == STORAGE_LABEL_MAPS);
        s.split = "nothing";
        assert_false(row->probe(&s));
        assert_false(row->check(&s, &why));
        assert_non_null(strstr(why.buf, "nothing"));
        strbuf_release(&why);
        strbuf_release(&guess);
        remove_temp_dir(dir);
    }
}

static void generated_data_need_no_files(void **state)
{
    int n = 0;

    (void)state;
    for (const struct storage *const *row = storage_table; *row; row++)
        for (int label_maps = 0; (*row)->generated && label_maps < 2; label_maps++) {
            struct dataset_source s = source_of("", label_maps);

            if ((*row)->labels == STORAGE_EITHER ||
                ((*row)->labels == STORAGE_LABEL_MAPS) == label_maps)
                read_all(*row, &s, label_maps), n++;
        }
    assert_true(n > 0);
}

/* If the path is the list file's, the message names the folder and the split. */
static void a_list_file_is_known(void **state)
{
    char *dir = make_temp_dir(), *path = path_join(dir, "train.txt");
    struct dataset_source s = source_of(path, false);
    struct strbuf guess = STRBUF_INIT, want = STRBUF_INIT;

    (void)state;
    make_list(dir);
    strbuf_addf(&want, "'%s' looks like DATA.DATASET list with a split 'train'", dir);
    storage_add_guess(storage_find("list"), &s, &guess);
    assert_string_equal(guess.buf, want.buf);
    strbuf_reset(&guess);
    make_text(dir, "train.txt", "train/1.jpg 0\ntrain/2.jpg 1\n"); /* number of classes */
    storage_add_guess(NULL, &s, &guess);
    assert_string_equal(guess.buf, want.buf);
    strbuf_reset(&guess);
    make_text(dir, "train.txt", "a text of others\n");
    storage_add_guess(NULL, &s, &guess);
    assert_int_equal(guess.len, 0);
    strbuf_release(&guess);
    strbuf_release(&want);
    remove_temp_dir(dir);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(files_are_of_one_storage),
        cmocka_unit_test(generated_data_need_no_files),
        cmocka_unit_test(a_list_file_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
