/* Damaged containers. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

/* A truncated tar loses only the sample in which it ends. */
static void a_cut_tar_has_a_damaged_sample(void **state)
{
    char *dir = golden_copy("tar"), *path = path_join(dir, "train-01.tar");
    struct dataset_source s = pack_source(dir, false);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT, name = STRBUF_INIT;
    struct dataset *d;
    int fd = open(path, O_RDWR);

    (void)state;
    /* header, class, header, JSON, header, and 100 bytes of the image */
    assert_int_equal(ftruncate(fd, 5 * 512 + 100), 0);
    close(fd);
    d = dataset_open("tar", &s);
    assert_int_equal(d->n, 4);
    for (int i = 0; i < 3; i++)
        golden_expect_image(d, i);
    assert_int_equal(dataset_read(d, 3, GOLDEN_LIMIT, &bytes, &why), -1);
    assert_non_null(strstr(why.buf, "truncated"));
    dataset_describe(d, 3, &name);
    assert_non_null(strstr(name.buf, "train-01.tar: a.b/x/0003.png"));
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    strbuf_release(&name);
    dataset_close(d);
    free(path);
    remove_temp_dir(dir);
}

/* Images that precede their classes, as trainc pack and tar write them: if the tar ends
 * before or within a class, that sample is damaged. */
static void a_cut_class_is_a_damaged_sample(void **state)
{
    static const struct {
        int64_t len;
        int n;
        const char *why;
    } rows[] = {
        {2 * 1024 + 512 + 20, 2, "truncated"}, /* within the second image */
        {3 * 1024, 2, "is cut off"},           /* before the header of its class */
        {3 * 1024 + 100, 2, "is cut off"},     /* within it */
        {3 * 1024 + 512, 2, "is cut off"},     /* before its class */
    };
    char *src = golden_copy("files"),
         *line = xasprintf(
             "cd '%s' && for i in 0 1 2; do echo $i >$i.cls; done && "
             "tar cf train.tar --format=ustar 0.png 0.cls 1.png 1.cls 2.png 2.cls",
             src);
    struct dataset_source s = pack_source(src, false);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(system(line), 0);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_temp_dir(), *path = path_join(src, "train.tar");
        struct dataset *d;

        golden_copy_file(path, dir, "train.tar");
        free(path);
        path = path_join(dir, "train.tar");
        assert_int_equal(truncate(path, rows[r].len), 0);
        s.path = dir;
        d = dataset_open("tar", &s);
        assert_int_equal(d->n, rows[r].n);
        golden_expect_image(d, 0);
        assert_int_equal(dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why), -1);
        assert_non_null(strstr(why.buf, rows[r].why));
        strbuf_reset(&why);
        dataset_close(d);
        free(path);
        remove_temp_dir(dir);
    }
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    free(line);
    remove_temp_dir(src);
}

/* Pixels that changed on disk are detected. */
static void damaged_pixels_are_found(void **state)
{
    char *src = make_classes(), *dir = make_temp_dir();
    char *path = path_join(dir, "train.decoded");
    struct dataset_source s = pack_source(src, false);
    struct dataset *d = dataset_open("folder", &s);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    int fd, bad = 0;

    (void)state;
    pack_to("decoded", d, dir, 0, NULL);
    dataset_close(d);
    fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "x", 1, 200), 1); /* in the first image */
    close(fd);
    s.path = dir;
    d = dataset_open("decoded", &s);
    for (int i = 0; i < d->n; i++)
        if (dataset_read(d, i, GOLDEN_LIMIT, &bytes, &why) < 0) {
            assert_int_equal(i, 0);
            bad++;
        }
    assert_int_equal(bad, 1);
    assert_non_null(strstr(why.buf, "checksum"));
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    free(path);
    remove_temp_dir(src);
    remove_temp_dir(dir);
}

/* Returns the unreadable samples as bits; the others must be unchanged. */
static unsigned damaged(const char *storage, const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open(storage, &s);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    unsigned bad = 0;

    for (int i = 0; i < d->n; i++) {
        if (dataset_read(d, i, GOLDEN_LIMIT, &bytes, &why) < 0) {
            bad |= 1u << i;
            assert_true(why.len > 0);
            assert_in_range(dataset_label(d, i), 0, GOLDEN_CLASSES - 1);
            strbuf_reset(&why);
        } else {
            golden_expect_image(d, i);
            assert_int_equal(dataset_label(d, i), golden_label[i]);
        }
    }
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return bad;
}

/* Byte offsets of records, as scripts/golden/containers.py wrote them. */
static void damage_stays_where_it_is(void **state)
{
    static const struct {
        const char *folder, *file, *missing;
        int64_t offset;
        unsigned bad;
    } rows[] = {
        /* the second record's data; its length, which hides all later records */
        {"tfrecord", "train-00000-of-00001.tfrecord", NULL, 446 + 300, 2},
        {"tfrecord", "train-00000-of-00001.tfrecord", NULL, 446, 2},
        /* the second record's magic, with and without the index */
        {"recordio", "train.rec", NULL, 196, 2},
        {"recordio", "train.rec", "train.idx", 196, 2},
        /* headers of the second sample: class, JSON, image */
        {"tar", "train-00.tar", NULL, 4096, 2},
        {"tar", "train-00.tar", NULL, 5120, 2},
        {"tar", "train-00.tar", NULL, 6144, 2},
        /* the first record: later ones still identify the format */
        {"tfrecord", "train-00000-of-00001.tfrecord", NULL, 0, 1},
        {"recordio", "train.rec", NULL, 0, 1},
        {"recordio", "train.rec", "train.idx", 0, 1},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = golden_copy(rows[r].folder);

        if (rows[r].missing) {
            char *path = path_join(dir, rows[r].missing);

            assert_int_equal(damaged(rows[r].folder, dir), 0);
            assert_int_equal(unlink(path), 0);
            free(path);
        }
        assert_int_equal(damaged(rows[r].folder, dir), 0);
        golden_write_at(dir, rows[r].file, rows[r].offset, "wrong");
        assert_int_equal(damaged(rows[r].folder, dir), rows[r].bad);
        remove_temp_dir(dir);
    }
}

/* Pages that liblmdb would trust. The file has three: two meta pages, the newer with the
 * root at byte 4096 + 128, and a leaf; offsets as in lmdb_check.c. */
static void a_damaged_lmdb_is_refused(void **state)
{
    static const struct {
        int64_t offset;
        const char *bytes, *why;
    } rows[] = {
        {16, "x", "it is not an LMDB that this machine can read"},
        {4096 + 16 + 24, "\xff", "it is not an LMDB"}, /* page size */
        {4096 + 128, "\xff", "page 255 is damaged: it lies outside the file"},
        {8192, "\x07", "page 2 is damaged: it is neither a branch nor a leaf"},
        {8192 + 10, "\x05", "page 2 is damaged: it is neither a branch nor a leaf"},
        {8192 + 16, "\xfe\xff", "page 2 is damaged: a node lies outside it"},
        {8192 + 3890 + 2, "\x01", "page 2 is damaged: a value lies outside it"},
        {8192 + 3890 + 4, "\x01", "page 2 is damaged: a value lies outside the file"},
        {8192 + 3890 + 4, "\x04", "page 2 is damaged: a key has several values"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = golden_copy("lmdb");
        struct opening o = {"lmdb", pack_source(dir, false)};

        golden_write_at(dir, "train.lmdb/data.mdb", rows[r].offset, rows[r].bytes);
        check_dies(open_and_close, &o, rows[r].why);
        remove_temp_dir(dir);
    }
}

/* They are not reported as damage. */
static void foreign_files_are_told(void **state)
{
    static const char gzip[] =
        "\x1f\x8b\x08\0\0\0\0\0\0\3 and so on, for more than a head";
    static const struct {
        const char *storage, *file, *bytes;
        size_t len;
        const char *why;
    } rows[] = {
        {"tar", "train.tar", gzip, sizeof(gzip), "': it is gzip-compressed"},
        {"tfrecord", "train.tfrecord", gzip, sizeof(gzip), "': it is gzip-compressed"},
        {"recordio", "train.rec", gzip, sizeof(gzip), "': it is gzip-compressed"},
        {"tfrecord", "train.tfrecord", "text", 4, "': it is not a TFRecord file"},
        {"recordio", "train.rec", "a text of more words", 20,
         "': it is not a RecordIO file"},
        {"recordio", "train.rec", "a\x0a\x23\xd7\xce, not on 4", 15,
         "': it is not a RecordIO file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *dir = make_temp_dir();
        struct opening o = {rows[i].storage, pack_source(dir, false)};

        make_file(dir, rows[i].file, rows[i].bytes, rows[i].len);
        check_dies(open_and_close, &o, rows[i].why);
        remove_temp_dir(dir);
    }
}

/* The first valid header crosses the boundary of two search blocks. */
static void a_far_record_tells_the_kind(void **state)
{
    static char data[(1 << 16) + 100];
    struct {
        uint64_t len;
        uint32_t crc;
    } __attribute__((packed)) head = {.len = 1};
    char *dir = make_temp_dir();
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d;

    (void)state;
    head.crc = crc32c_masked(&head.len, sizeof(head.len));
    memset(data, 'x', sizeof(data));
    memcpy(data + (1 << 16) - 8, &head, sizeof(head));
    make_file(dir, "train.tfrecord", data, sizeof(data));
    d = dataset_open("tfrecord", &s);
    assert_int_equal(d->n, 1);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Only the label file has another format. */
static void foreign_label_maps_are_told(void **state)
{
    char *dir = golden_copy("recordio");
    struct opening o = {"recordio", pack_source(dir, true)};

    (void)state;
    make_file(dir, "train.labels.rec", "a text", 6);
    check_dies(open_and_close, &o,
               "it is not a RecordIO file: it has no valid record ('");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_tar_has_a_damaged_sample),
        cmocka_unit_test(a_cut_class_is_a_damaged_sample),
        cmocka_unit_test(damaged_pixels_are_found),
        cmocka_unit_test(damage_stays_where_it_is),
        cmocka_unit_test(a_damaged_lmdb_is_refused),
        cmocka_unit_test(foreign_files_are_told),
        cmocka_unit_test(a_far_record_tells_the_kind),
        cmocka_unit_test(foreign_label_maps_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
