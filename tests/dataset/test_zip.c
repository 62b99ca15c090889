/* Zip files and their maps (tests/golden/containers/zip, by Python's zipfile): errors in
 * a map, archives without a map, damage. test_containers.c checks the contents. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/table.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/containers/zip"

enum { N = 5, LIMIT = 1 << 20 };

static char *read_golden(const char *name, size_t *len)
{
    char *path = path_join(GOLDEN, name), *data = file_read(path, len);

    assert_non_null(data);
    free(path);
    return data;
}

/* Makes a folder with the golden archive and `map` instead of its own; NULL: without a
 * map. */
static char *make_zip(const char *map)
{
    char *dir = make_temp_dir();
    size_t len;
    char *data = read_golden("train.zip", &len);

    make_file(dir, "train.zip", data, len);
    if (map)
        make_file(dir, "train_map.txt", map, strlen(map));
    free(data);
    return dir;
}

static struct dataset *open_zip(const char *dir)
{
    struct dataset_source s = pack_source(dir, false);

    return dataset_open("zip", &s);
}

static void open_in_child(void *arg)
{
    dataset_close(open_zip(arg));
}

static void mistakes_in_a_map_are_told(void **state)
{
    static const struct {
        const char *map, *why;
    } rows[] = {
        {"n001/0.png\t1\nn000/9.png\t0\n", "train_map.txt:2: 'n000/9.png'"},
        {"n001/0.png 1\n", "train_map.txt:1: expected 'PATH<tab>CLASS', not 'n001/0"},
        {"\n# none\nn001/0.png\tone\n", "train_map.txt:3: expected 'PATH<tab>CLASS'"},
        {"n001/0.png\t-1\n", "train_map.txt:1: expected 'PATH<tab>CLASS'"},
        {"n001/0.png\t3\n",
         "n001/0.png': class index 3 is out of range: the data set has 3 classes"},
        {"# nothing\n", "train.zip' has no samples"},
        {"n001/0.png\tdog\n", "not 'n001/0.png?dog'"},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_zip(rows[r].map);

        check_dies(open_in_child, dir, rows[r].why);
        remove_temp_dir(dir);
    }
}

static void expect_bytes(const struct dataset *d, int i, const char *file)
{
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *want = read_golden(file, &len);

    assert_int_equal(dataset_read(d, i, LIMIT, &bytes, &why), 0);
    assert_int_equal(bytes.len, len);
    assert_memory_equal(bytes.data, want, len);
    dataset_bytes_release(&bytes);
    free(want);
}

/* The map determines order and classes, not the folders; it may list a member twice, and
 * further columns are ignored. */
static void a_map_says_what_counts(void **state)
{
    char *dir = make_zip("n002/2.png\t0\nn001/0.png\t2\tmore\nn002/2.png\t1\r\n");
    struct dataset *d = open_zip(dir);

    (void)state;
    assert_int_equal(d->n, 3);
    assert_int_equal(dataset_label(d, 0), 0);
    assert_int_equal(dataset_label(d, 1), 2);
    assert_int_equal(dataset_label(d, 2), 1);
    expect_bytes(d, 0, "../files/2.png");
    expect_bytes(d, 1, "../files/0.png");
    expect_bytes(d, 2, "../files/2.png");
    dataset_close(d);
    remove_temp_dir(dir);
}

static void folders_are_classes_without_a_map(void **state)
{
    char *dir = make_zip(NULL);
    struct dataset *d = open_zip(dir);
    static const int label[N] = {1, 0, 2, 2, 1};

    (void)state;
    assert_int_equal(d->n, N);
    assert_int_equal(d->nclass, 3);
    assert_string_equal(d->class_name[2], "n002");
    for (int i = 0; i < N; i++)
        assert_int_equal(dataset_label(d, i), label[i]);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Sets the byte at offset `skip` of the nth (from 0) header with this magic: "PK\1\2" of
 * the directory, "PK\3\4" of a member. */
static void patch(const char *dir, const char *magic, int nth, int skip, int value)
{
    char *path = path_join(dir, "train.zip");
    size_t len;
    char *data = file_read(path, &len), *cursor = data;

    while (memcmp(cursor, magic, 4) != 0 || nth-- > 0)
        cursor++;
    cursor[skip] = (char)value;
    make_file(dir, "train.zip", data, len);
    free(path);
    free(data);
}

/* Replaces a byte of the first member's name, "n001/0.png", in both of its headers. */
static void patch_name(const char *dir, int pos, char byte)
{
    patch(dir, "PK\1\2", 0, 46 + pos, byte);
    patch(dir, "PK\3\4", 0, 30 + pos, byte);
}

/* Names from Windows (code page 437, backslashes), by tools that claim MS-DOS or Unix; a
 * control character. */
static void names_of_any_bytes_are_found(void **state)
{
    static const struct {
        int offset;
        char byte;
        const char *name;
    } rows[] = {{4, '\\', "n001"},
                {2, '\x82', "n0é1"},
                {2, '\x1b',
                 "n0\x1b"
                 "1"}};

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (char system = 0; system <= 3; system = (char)(system + 3)) {
            char *dir = make_zip(NULL);
            struct dataset *d;

            patch_name(dir, rows[r].offset, rows[r].byte);
            patch(dir, "PK\1\2", 0, 5, system);
            d = open_zip(dir);
            assert_int_equal(d->n, N);
            assert_string_equal(d->class_name[dataset_label(d, 0)], rows[r].name);
            expect_bytes(d, 0, "../files/0.png");
            dataset_close(d);
            remove_temp_dir(dir);
        }
}

/* The stored index of an archive is not used after its map has changed. */
static void a_changed_map_is_read(void **state)
{
    char *dir = make_zip("n001/0.png\t1\nn000/1.png\t0\n");
    struct dataset *d;

    (void)state;
    for (int i = 0; i < 2; i++) { /* the second time from the index */
        make_old(dir, "train.zip", 100);
        make_old(dir, "train_map.txt", 100);
        d = open_zip(dir);
        assert_int_equal(dataset_label(d, 0), 1);
        dataset_close(d);
    }
    make_file(dir, "train_map.txt", "n001/0.png\t2\nn000/1.png\t0\n", 26);
    make_old(dir, "train_map.txt", 90);
    d = open_zip(dir);
    assert_int_equal(dataset_label(d, 0), 2);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Returns the unreadable samples as bits. Reasons must contain `say`. */
static unsigned damaged(const char *dir, const char *say)
{
    struct dataset *d = open_zip(dir);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    unsigned bad = 0;

    for (int i = 0; i < d->n; i++)
        if (dataset_read(d, i, LIMIT, &bytes, &why) < 0) {
            bad |= 1u << i;
            assert_non_null(strstr(why.buf, say));
            strbuf_reset(&why);
        }
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return bad;
}

static void damage_stays_where_it_is(void **state)
{
    char *dir = make_zip("n001/0.png\t1\nn000/1.png\t0\nn002/2.png\t2\n");

    (void)state;
    assert_int_equal(damaged(dir, ""), 0);
    patch(dir, "PK\3\4", 1, 30 + 10 + 2, 0xff); /* within the second one's deflated
                                                 * bytes */
    assert_int_equal(damaged(dir, "damaged: "), 2);
    remove_temp_dir(dir);
}

/* A stored member with a changed byte, and a deflated one with a changed checksum. */
static void sums_of_members_are_compared(void **state)
{
    char *dir = make_zip("n001/0.png\t1\nn000/1.png\t0\nn002/2.png\t2\n");

    (void)state;
    patch(dir, "PK\3\4", 0, 30 + 10 + 40, 0x5a);
    assert_int_equal(damaged(dir, "damaged: wrong checksum"), 1);
    patch(dir, "PK\1\2", 1, 16, 0x5a); /* checksum of the second, deflated member */
    patch(dir, "PK\3\4", 1, 14, 0x5a);
    assert_int_equal(damaged(dir, "damaged: wrong checksum"), 3);
    remove_temp_dir(dir);
}

static void encryption_and_doubles_are_told(void **state)
{
    char *dir = make_zip(NULL);

    (void)state;
    patch(dir, "PK\1\2", 1, 8, 1);
    patch(dir, "PK\3\4", 1, 6, 1);
    check_dies(open_in_child, dir, "'n000/1.png' is encrypted");
    remove_temp_dir(dir);

    dir = make_zip(NULL);
    for (int i = 0; i < 10; i++) { /* the second gets the name of the first */
        patch(dir, "PK\1\2", 1, 46 + i, "n001/0.png"[i]);
        patch(dir, "PK\3\4", 1, 30 + i, "n001/0.png"[i]);
    }
    check_leaves(open_in_child, dir, 0,
                 "skipping members that a later member with the same name replaces (1), "
                 "such as 'n001/0.png'");
    remove_temp_dir(dir);
}

static void other_compression_is_told(void **state)
{
    char *dir = make_zip("n001/0.png\t1\n");

    (void)state;
    patch(dir, "PK\1\2", 1, 10, 12);
    patch(dir, "PK\3\4", 1, 8, 12);
    check_dies(open_in_child, dir, "'n000/1.png' uses compression method 12: only");
    remove_temp_dir(dir);
}

/* The 22 bytes that Python's zipfile writes for an archive without members. */
static void an_empty_archive_has_no_samples(void **state)
{
    static const char end[22] = "PK\5\6";
    char *dir = make_temp_dir();

    (void)state;
    make_file(dir, "train.zip", end, sizeof(end));
    check_dies(open_in_child, dir, "train.zip' has no samples");
    make_file(dir, "train_map.txt", "a.png\t1\n", 8);
    check_dies(open_in_child, dir, "train_map.txt:1: 'a.png'");
    remove_file(dir, "train_map.txt");
    remove_file(dir, "train.zip");
    make_file(dir, "train-1.zip", end, sizeof(end));
    make_file(dir, "train-2.zip", end, sizeof(end));
    check_dies(open_in_child, dir, "none of the 2 files of '");
    remove_temp_dir(dir);
}

static void a_cut_archive_is_told(void **state)
{
    char *dir = make_zip("n001/0.png\t1\n"), *path = path_join(dir, "train.zip");

    (void)state;
    assert_int_equal(truncate(path, 500), 0);
    check_dies(open_in_child, dir, "train.zip': ");
    free(path);
    remove_temp_dir(dir);
}

/* Sets bit 11 of a member's flags; otherwise others decode names with a DOS code page. */
static void a_packed_zip_says_that_names_are_utf8(void **state)
{
    char *src = make_temp_dir(), *dst = make_temp_dir(),
         *path = path_join(dst, "train.zip");
    struct dataset_source s = pack_source(src, false);
    struct dataset *d;
    size_t len;
    char *data;

    (void)state;
    make_image(src, "train/\xc3\xa9/1.jpg", 30, 26, 1);
    d = dataset_open("folder", &s);
    pack_to("zip", d, dst, 0, NULL);
    dataset_close(d);
    data = file_read(path, &len);
    assert_true(data && len > 8);
    assert_memory_equal(data, "PK\3\4", 4);
    assert_true(data[7] & 8);
    free(data);
    free(path);
    remove_temp_dir(src);
    remove_temp_dir(dst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_in_a_map_are_told),
        cmocka_unit_test(a_map_says_what_counts),
        cmocka_unit_test(folders_are_classes_without_a_map),
        cmocka_unit_test(names_of_any_bytes_are_found),
        cmocka_unit_test(a_changed_map_is_read),
        cmocka_unit_test(damage_stays_where_it_is),
        cmocka_unit_test(sums_of_members_are_compared),
        cmocka_unit_test(encryption_and_doubles_are_told),
        cmocka_unit_test(other_compression_is_told),
        cmocka_unit_test(an_empty_archive_has_no_samples),
        cmocka_unit_test(a_cut_archive_is_told),
        cmocka_unit_test(a_packed_zip_says_that_names_are_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
