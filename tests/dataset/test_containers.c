/* Containers as other programs write them (scripts/golden/containers.py), and their file
 * names. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/recordio.h"
#include "dataset/shards.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static const struct foreign {
    const char *storage, *classes, *label_maps;     /* folders, or NULL */
    void (*expect)(const struct dataset *d, int i); /* default: golden_expect_image */
} foreign[] = {
    {"tar", "tar", "tar", NULL},
    {"zip", "zip", NULL, NULL},
    {"tar", "tar_names", NULL, NULL},
    {"zip", "zip_names", NULL, NULL},
    {"lmdb", "lmdb", NULL, NULL},
    {"lmdb", NULL, "lmdb_maps", NULL},
    {"lmdb", "lmdb_caffe", NULL, NULL},
    {"lmdb", "lmdb_paths", NULL, NULL},
    {"recordio", "recordio", NULL, NULL},
    {"tfrecord", "tfrecord", "tfrecord", NULL},
    {"hdf5", "hdf5", "hdf5", NULL},
    {"hdf5", "hdf5_pixels", "hdf5_pixels", NULL},
    {"hdf5", "hdf5_gray", "hdf5_gray", golden_expect_gray},
};

static void others_files_are_read(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2 * sizeof(foreign) / sizeof(foreign[0]); f++) {
        const struct foreign *row = &foreign[f / 2];
        const char *folder = f % 2 ? row->label_maps : row->classes;
        struct dataset_source s;
        struct dataset *d;
        char *dir;

        if (!folder)
            continue;
        print_message("%s, %s\n", folder, f % 2 ? "label maps" : "classes");
        dir = golden_copy(folder);
        s = pack_source(dir, f % 2);
        d = dataset_open(row->storage, &s);
        assert_int_equal(d->n, GOLDEN_N);
        assert_int_equal(d->nclass, GOLDEN_CLASSES);
        for (int i = 0; i < GOLDEN_N; i++) {
            (row->expect ? row->expect : golden_expect_image)(d, i);
            assert_int_equal(dataset_label(d, i), f % 2 ? 0 : golden_label[i]);
            if (f % 2)
                golden_expect_label_map(d, i);
        }
        dataset_close(d);
        remove_temp_dir(dir);
    }
}

static void braces_name_files(void **state)
{
    static const char *const want[] = {"a/x007-b.tar", "a/x007-c.tar", "a/x008-b.tar",
                                       "a/x008-c.tar", "a/x009-b.tar", "a/x009-c.tar",
                                       "a/x010-b.tar", "a/x010-c.tar"};
    char **name;
    int n;

    (void)state;
    name = shards_expand("a/x{007..010}-{b,c}.tar", &n);
    assert_int_equal(n, 8);
    for (int i = 0; i < n; i++)
        assert_string_equal(name[i], want[i]);
    dir_list_free(name, n);
    name = shards_expand("plain", &n);
    assert_int_equal(n, 1);
    dir_list_free(name, n);
    name = shards_expand("a{0..1", &n);
    assert_int_equal(n, 0);
    dir_list_free(name, n);
}

static void a_split_may_name_files(void **state)
{
    char *dir = golden_copy("tar");
    struct dataset_source s = pack_source(dir, false);
    struct strbuf why = STRBUF_INIT;
    struct dataset *d;

    (void)state;
    s.split = "train-{00..01}.tar";
    d = dataset_open("tar", &s);
    assert_int_equal(d->n, GOLDEN_N);
    dataset_close(d);
    s.split = "train-01.tar";
    d = dataset_open("tar", &s);
    assert_int_equal(d->n, 2);
    dataset_close(d);
    s.split = "train-{00..02}.tar";
    assert_false(storage_find("tar")->check(&s, &why));
    assert_non_null(strstr(why.buf, "train-02.tar'"));
    strbuf_release(&why);
    remove_temp_dir(dir);
}

/* Names that other programs use. */
static void files_have_several_names(void **state)
{
    static const struct {
        const char *storage, *source, *dst, *split;
    } rows[] = {
        {"tfrecord", "tfrecord/train-00000-of-00001.tfrecord", "train.tfrecords",
         "train"},
        {"tfrecord", "tfrecord/train-00000-of-00001.tfrecord",
         "set-train.tfrecord-00000-of-00001", "set-train"},
        {"hdf5", "hdf5/train.h5", "train-0.hdf5", "train"},
        {"lmdb", "lmdb/train.lmdb/data.mdb", "train_lmdb/data.mdb", "train"},
        {"lmdb", "lmdb/train.lmdb/data.mdb", "set_train_lmdb/data.mdb", "set_train_lmdb"},
        {"lmdb", "lmdb/train.lmdb/data.mdb", "train/data.mdb", "train"},
        {"lmdb", "lmdb/train.lmdb/data.mdb", "data.mdb", ""},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_temp_dir(), *golden_file = path_join(GOLDEN, rows[r].source);
        struct dataset_source s = pack_source(dir, false);
        struct strbuf why = STRBUF_INIT;
        struct dataset *d;

        golden_copy_file(golden_file, dir, rows[r].dst);
        s.split = rows[r].split;
        if (!storage_find(rows[r].storage)->check(&s, &why))
            fail_msg("%s: %s", rows[r].dst, why.buf);
        d = dataset_open(rows[r].storage, &s);
        assert_int_equal(d->n, GOLDEN_N);
        golden_expect_image(d, GOLDEN_N - 1);
        dataset_close(d);
        free(golden_file);
        remove_temp_dir(dir);
    }
}

/* Neither .cls nor classes.txt. */
static void folders_in_a_tar_are_classes(void **state)
{
    char *dir = make_temp_dir(), *path = path_join(dir, "train.tar");
    char *line = xasprintf("cd '%s' && mkdir -p t/dog t/cat && cp 0.png t/dog/aa.png && "
                           "cp 1.png t/dog/a.png && cp 2.png t/cat/c.png && "
                           "tar cf train.tar -C t dog/aa.png dog/a.png cat/c.png",
                           dir);
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char *src = xasprintf("%s/files/%d.png", GOLDEN, i), dst[16];

        snprintf(dst, sizeof(dst), "%d.png", i);
        golden_copy_file(src, dir, dst);
        free(src);
    }
    assert_int_equal(system(line), 0);
    d = dataset_open("tar", &s);
    assert_int_equal(d->nclass, 2);
    assert_string_equal(d->class_name[0], "cat");
    assert_int_equal(dataset_label(d, 0), 1);
    assert_int_equal(dataset_label(d, 1), 1);
    assert_int_equal(dataset_label(d, 2), 0);
    for (int i = 0; i < 3; i++)
        golden_expect_image(d, i);
    dataset_close(d);
    free(line);
    free(path);
    remove_temp_dir(dir);
}

/* Three records with classes 1, 1 + step, ... */
static void make_from_one(const char *dir, float step)
{
    struct {
        uint32_t magic, len;
        struct record_head head;
        char image[8];
    } record[3];

    for (int i = 0; i < 3; i++) {
        record[i].magic = RECORD_MAGIC;
        record[i].len = sizeof(record[i].head) + sizeof(record[i].image);
        record[i].head = (struct record_head){.label = 1 + step * (float)i};
        memset(record[i].image, 'x', sizeof(record[i].image));
    }
    make_file(dir, "train.rec", record, sizeof(record));
}

static void classes_may_count_from_one(void **state)
{
    char *dir = make_temp_dir();
    struct opening o = {"recordio", pack_source(dir, false)};
    struct dataset *d;

    (void)state;
    make_from_one(dir, 1);
    o.source.labels.classes = 3;
    check_dies(open_and_close, &o,
               "train.rec: byte 80': class index 3 is out of range: the data set has 3 "
               "classes, counted from 0 (set the number in classes.txt or "
               "MODEL.NUM_CLASSES; set DATA.FIRST_CLASS 1");
    o.source.labels.first = 1;
    d = dataset_open("recordio", &o.source);
    assert_int_equal(d->nclass, 3);
    assert_string_equal(d->class_name[2], "3");
    for (int i = 0; i < 3; i++)
        assert_int_equal(dataset_label(d, i), i);
    dataset_close(d);
    o.source.labels.classes = 2;
    check_dies(open_and_close, &o,
               "class index 3 is out of range: the data set has 2 classes, counted from "
               "1 (set the number in classes.txt or MODEL.NUM_CLASSES)");
    remove_temp_dir(dir);

    dir = golden_copy("tfrecord");
    o = (struct opening){"tfrecord", pack_source(dir, false)};
    o.source.labels.first = 1;
    check_dies(open_and_close, &o, "has class 0, but DATA.FIRST_CLASS is 1");
    remove_temp_dir(dir);
}

static void a_part_of_a_class_is_none(void **state)
{
    char *dir = make_temp_dir();
    struct opening o = {"recordio", pack_source(dir, false)};

    (void)state;
    make_from_one(dir, 0.5f);
    check_dies(open_and_close, &o, "train.rec: byte 40' has no class");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_files_are_read),
        cmocka_unit_test(braces_name_files),
        cmocka_unit_test(a_split_may_name_files),
        cmocka_unit_test(classes_may_count_from_one),
        cmocka_unit_test(a_part_of_a_class_is_none),
        cmocka_unit_test(files_have_several_names),
        cmocka_unit_test(folders_in_a_tar_are_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
