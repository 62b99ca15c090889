/* The index of class folders: the second start reads it unless something has changed, and
 * changes are detected. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "dataset/table.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static const char *const folders[] = {"train/a", "train/a/deep", "train/b", NULL};

static char *below(const char *dir, const char *name)
{
    return path_join(dir, name);
}

static char *make_data(void)
{
    char *dir = make_temp_dir();

    make_file(dir, "train/a/2.jpg", "2", 1);
    make_file(dir, "train/a/1.jpg", "1", 1);
    make_file(dir, "train/a/deep/3.png", "3", 1);
    make_file(dir, "train/a/notes.txt", "x", 1);
    make_file(dir, "train/b/4.jpg", "4", 1);
    for (const char *const *f = folders; *f; f++)
        make_old(dir, *f, 100);
    return dir;
}

/* Returns the contents of all files in order, one letter each: "1234". */
static void expect(const char *dir, const char *want)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("folder", &s);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;

    for (int64_t i = 0; i < d->n; i++) {
        bool is = dataset_read(d, i, 10, &bytes, &why) == 0;

        strbuf_addch(&got, is ? (char)bytes.data[0] : '?');
        assert_int_equal(dataset_label(d, i), is && bytes.data[0] > '3');
    }
    assert_string_equal(got.buf, want);
    strbuf_release(&got);
    strbuf_release(&why);
    dataset_bytes_release(&bytes);
    dataset_close(d);
}

static void an_index_is_kept_of_old_folders(void **state)
{
    char *dir = make_data(), *index;

    (void)state;
    make_file(dir, "train/b/4.jpg", "4", 1); /* the same name: no change */
    make_old(dir, "train/a/deep", 0);
    expect(dir, "1234");
    assert_null(index_in(dir));
    make_old(dir, "train/a/deep", 100);
    expect(dir, "1234");
    index = index_in(dir);
    assert_non_null(index);
    expect(dir, "1234");
    free(index);
    remove_temp_dir(dir);
}

/* The second start cannot notice a missing file if the folder's time is unchanged. */
static void the_index_is_what_is_read(void **state)
{
    char *dir = make_data(), *path = below(dir, "train/a");
    struct timespec t[2];
    struct stat st;

    (void)state;
    expect(dir, "1234");
    assert_int_equal(stat(path, &st), 0);
    remove_file(dir, "train/a/1.jpg");
    t[0] = t[1] = st.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
    expect(dir, "?234");
    make_old(dir, "train/a", 50);
    expect(dir, "234");
    free(path);
    remove_temp_dir(dir);
}

static void changes_are_seen(void **state)
{
    char *dir = make_data();
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d;

    (void)state;
    expect(dir, "1234");
    make_file(dir, "train/a/deep/0.png", "0", 1); /* changes the folder's time */
    expect(dir, "12034");
    make_old(dir, "train/a/deep", 80);
    expect(dir, "12034");
    remove_file(dir, "train/a/deep/0.png");
    make_old(dir, "train/a/deep", 70);
    expect(dir, "1234");
    make_file(dir, "train/0/5.jpg", "1", 1); /* a new class before the others */
    d = dataset_open("folder", &s);
    assert_int_equal(d->nclass, 3);
    assert_int_equal(d->n, 5);
    assert_int_equal(dataset_label(d, 4), 2);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void damage_is_seen(void **state)
{
    char *dir = make_data(), *index, *path, *data;
    size_t len;

    (void)state;
    expect(dir, "1234");
    index = index_in(dir);
    path = below(dir, index);
    data = file_read(path, &len);
    for (size_t pos = 0; pos < len; pos += 7) {
        data[pos] ^= 1;
        make_file(dir, index, data, len);
        expect(dir, "1234"); /* rebuilt, and therefore intact */
        data[pos] ^= 1;
    }
    for (size_t n = 0; n < len; n += 11) {
        make_file(dir, index, data, n);
        expect(dir, "1234");
    }
    free(data);
    free(path);
    free(index);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_kept_of_old_folders),
        cmocka_unit_test(the_index_is_what_is_read),
        cmocka_unit_test(changes_are_seen),
        cmocka_unit_test(damage_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
