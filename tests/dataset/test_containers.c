/* Containers as other programs write them (scripts/golden/containers.py), those that are
 * damaged, their index, and the names of their files. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/label.h"
#include "dataset/samples.h"
#include "dataset/shards.h"
#include "tests/dataset/open_storage.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/containers"

enum { N = 5, W = 6, H = 5, CLASSES = 3, LIMIT = 1 << 20 };

static const int32_t label_of[N] = {1, 0, 2, 2, 1};

static void copy_file(const char *from, const char *dir, const char *name)
{
    size_t len;
    char *data = file_read(from, &len);

    if (!data)
        fail_msg("cannot read %s", from);
    make_file(dir, name, data, len);
    free(data);
}

/* A folder of the golden files, or one that it holds, so that nothing is
 * written there. */
static void copy_folder(const char *from, const char *dir, const char *below)
{
    int n;
    char **name = dir_list(from, &n);

    for (int i = 0; i < n; i++) {
        char *path = path_join(from, name[i]), *to = xasprintf("%s%s", below, name[i]);
        char *inner = xasprintf("%s/", to);

        if (file_is_dir(path))
            copy_folder(path, dir, inner);
        else
            copy_file(path, dir, to);
        free(path);
        free(to);
        free(inner);
    }
    dir_list_free(name, n);
}

static char *copy_golden(const char *folder)
{
    char *dir = make_temp_dir(), *from = path_join(GOLDEN, folder);

    copy_folder(from, dir, "");
    free(from);
    return dir;
}

static void read_pixels(const void *data, size_t len, uint8_t rgb[H * W * 3])
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    int w, h;

    if (image_decoder_open(d, data, len, &w, &h, &why) < 0 ||
        image_decoder_read(d, NULL, &img, &why) < 0)
        fail_msg("%s", why.buf);
    assert_int_equal(w, W);
    assert_int_equal(h, H);
    for (int y = 0; y < H; y++)
        memcpy(rgb + (size_t)y * W * 3, img.pixel + (size_t)y * img.stride, W * 3);
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
}

static char *golden_file(int i, const char *ending, size_t *len)
{
    char *path = xasprintf("%s/files/%d%s.png", GOLDEN, i, ending);
    char *data = file_read(path, len);

    assert_non_null(data);
    free(path);
    return data;
}

static void expect_image(const struct dataset *d, int i)
{
    uint8_t got[H * W * 3], want[H * W * 3];
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = golden_file(i, "", &len);

    if (dataset_read(d, i, LIMIT, &bytes, &why) < 0)
        fail_msg("sample %d: %s", i, why.buf);
    read_pixels(bytes.data, bytes.len, got);
    read_pixels(data, len, want);
    assert_memory_equal(got, want, sizeof(want));
    dataset_bytes_release(&bytes);
    free(data);
}

static void expect_label_map(const struct dataset *d, int i)
{
    struct image_limits limits = image_limits_or_default(NULL);
    struct label_reader got = {0}, want = {0};
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data = golden_file(i, "_map", &len);

    if (dataset_label_map(d, i, &limits, &bytes, &got, &why) < 0 ||
        label_read(&want, data, len, &limits, &why) < 0)
        fail_msg("sample %d: %s", i, why.buf);
    assert_int_equal(got.w, W);
    assert_int_equal(got.h, H);
    assert_memory_equal(got.pixel, want.pixel, (size_t)W * H);
    dataset_bytes_release(&bytes);
    label_reader_release(&got);
    label_reader_release(&want);
    free(data);
}

static const struct foreign {
    const char *storage, *classes, *label_maps; /* folders; NULL: none */
} foreign[] = {
    {"tar", "tar", "tar"},
    {"zip", "zip", NULL},
    {"lmdb", "lmdb", NULL},
    {"lmdb", NULL, "lmdb_maps"},
    {"recordio", "recordio", NULL},
    {"tfrecord", "tfrecord", "tfrecord"},
    {"hdf5", "hdf5", "hdf5"},
    {"hdf5", "hdf5_pixels", "hdf5_pixels"},
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
        dir = copy_golden(folder);
        s = pack_source(dir, f % 2);
        d = dataset_open(row->storage, &s);
        assert_int_equal(d->n, N);
        assert_int_equal(d->nclass, CLASSES);
        for (int i = 0; i < N; i++) {
            expect_image(d, i);
            assert_int_equal(dataset_label(d, i), f % 2 ? 0 : label_of[i]);
            if (f % 2)
                expect_label_map(d, i);
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
    char *dir = copy_golden("tar");
    struct dataset_source s = pack_source(dir, false);
    struct strbuf why = STRBUF_INIT;
    struct dataset *d;

    (void)state;
    s.split = "train-{00..01}.tar";
    d = dataset_open("tar", &s);
    assert_int_equal(d->n, N);
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

/* Without .cls, without classes.txt. */
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
        char *from = xasprintf("%s/files/%d.png", GOLDEN, i), to[8];

        snprintf(to, sizeof(to), "%d.png", i);
        copy_file(from, dir, to);
        free(from);
    }
    assert_int_equal(system(line), 0);
    d = dataset_open("tar", &s);
    assert_int_equal(d->nclass, 2);
    assert_string_equal(d->class_name[0], "cat");
    assert_int_equal(dataset_label(d, 0), 1);
    assert_int_equal(dataset_label(d, 1), 1);
    assert_int_equal(dataset_label(d, 2), 0);
    for (int i = 0; i < 3; i++)
        expect_image(d, i);
    dataset_close(d);
    free(line);
    free(path);
    remove_temp_dir(dir);
}

/* A tar that is cut off loses the sample in which it ends, and no other changes. */
static void a_cut_tar_has_a_damaged_sample(void **state)
{
    char *dir = copy_golden("tar"), *path = path_join(dir, "train-01.tar");
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
        expect_image(d, i);
    assert_int_equal(dataset_read(d, 3, LIMIT, &bytes, &why), -1);
    assert_non_null(strstr(why.buf, "cut off"));
    dataset_describe(d, 3, &name);
    assert_non_null(strstr(name.buf, "train-01.tar: a.b/x/0003.png"));
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    strbuf_release(&name);
    dataset_close(d);
    free(path);
    remove_temp_dir(dir);
}

/* Pixels that changed on the disk are not taken. */
static void damaged_pixels_are_found(void **state)
{
    char *from = make_classes(), *dir = make_temp_dir();
    char *path = path_join(dir, "train.decoded");
    struct dataset_source s = pack_source(from, false);
    struct dataset *d = dataset_open("folder", &s);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    int fd, bad = 0;

    (void)state;
    pack_to("decoded", d, dir, 0, NULL);
    dataset_close(d);
    fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "x", 1, 200), 1); /* of the first image */
    close(fd);
    s.path = dir;
    d = dataset_open("decoded", &s);
    for (int i = 0; i < d->n; i++)
        if (dataset_read(d, i, LIMIT, &bytes, &why) < 0) {
            assert_int_equal(i, 0);
            bad++;
        }
    assert_int_equal(bad, 1);
    assert_non_null(strstr(why.buf, "checksum"));
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    free(path);
    remove_temp_dir(from);
    remove_temp_dir(dir);
}

/* Which of the samples cannot be read, a bit each; the others are what they were. */
static unsigned damaged(const char *storage, const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open(storage, &s);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    unsigned bad = 0;

    for (int i = 0; i < d->n; i++) {
        if (dataset_read(d, i, LIMIT, &bytes, &why) < 0) {
            bad |= 1u << i;
            assert_true(why.len > 0);
            assert_in_range(dataset_label(d, i), 0, CLASSES - 1);
            strbuf_reset(&why);
        } else {
            expect_image(d, i);
            assert_int_equal(dataset_label(d, i), label_of[i]);
        }
    }
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    return bad;
}

static void write_at(const char *dir, const char *name, int64_t at, const char *text)
{
    char *path = path_join(dir, name);
    int fd = open(path, O_RDWR), n = (int)strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, (size_t)n, at), n);
    close(fd);
    free(path);
}

/* Byte offsets of records, as scripts/golden/containers.py wrote them. */
static void damage_stays_where_it_is(void **state)
{
    static const struct {
        const char *folder, *file, *without;
        int64_t at;
        unsigned bad;
    } rows[] = {
        /* the second record's data; its length, after which nothing is found */
        {"tfrecord", "train-00000-of-00001.tfrecord", NULL, 446 + 300, 2},
        {"tfrecord", "train-00000-of-00001.tfrecord", NULL, 446, 2},
        /* the second record's magic, with the index and without it */
        {"recordio", "train.rec", NULL, 196, 2},
        {"recordio", "train.rec", "train.idx", 196, 2},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = copy_golden(rows[r].folder);

        if (rows[r].without) {
            char *path = path_join(dir, rows[r].without);

            assert_int_equal(damaged(rows[r].folder, dir), 0);
            assert_int_equal(unlink(path), 0);
            free(path);
        }
        assert_int_equal(damaged(rows[r].folder, dir), 0);
        write_at(dir, rows[r].file, rows[r].at, "wrong");
        assert_int_equal(damaged(rows[r].folder, dir), rows[r].bad);
        remove_temp_dir(dir);
    }
}

static void expect_tar(const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("tar", &s);

    assert_int_equal(d->n, N);
    for (int i = 0; i < N; i++) {
        expect_image(d, i);
        assert_int_equal(dataset_label(d, i), label_of[i]);
    }
    dataset_close(d);
}

static void flip_byte(const char *dir, const char *name, int from_end)
{
    size_t len;
    char *path = path_join(dir, name), *data = file_read(path, &len);

    data[len - (size_t)from_end] ^= 1;
    make_file(dir, name, data, len);
    free(data);
    free(path);
}

/* It is used, made anew if it or a container changed, and not made of young files. */
static void an_index_is_kept_and_checked(void **state)
{
    char *dir = copy_golden("tar"), *index, *second;

    (void)state;
    expect_tar(dir);
    assert_null(index_in(dir)); /* files of this second may still change */
    make_old(dir, "train-00.tar", 100);
    make_old(dir, "train-01.tar", 100);
    expect_tar(dir);
    index = index_in(dir);
    assert_non_null(index);
    expect_tar(dir);
    for (int from_end = 1; from_end < 300; from_end += 37) {
        flip_byte(dir, index, from_end);
        expect_tar(dir); /* made anew, and so whole again */
    }
    make_old(dir, "train-00.tar", 90); /* as if it were written anew */
    remove_file(dir, index);
    expect_tar(dir);
    second = index_in(dir);
    assert_string_not_equal(index, second);
    free(index);
    free(second);
    remove_temp_dir(dir);
}

/* A second start reads the index, not the container: it does not see that a header is
 * gone, as long as the container's size and time say that nothing has changed. */
static void the_index_is_what_is_read(void **state)
{
    char *dir = copy_golden("tar"), *one = path_join(dir, "train-00.tar");
    struct timespec t[2];
    struct stat st;
    int fd;

    (void)state;
    make_old(dir, "train-00.tar", 100);
    make_old(dir, "train-01.tar", 100);
    expect_tar(dir);
    assert_int_equal(stat(one, &st), 0);
    fd = open(one, O_RDWR);
    assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, 0), 8);
    t[0] = t[1] = st.st_mtim;
    assert_int_equal(futimens(fd, t), 0);
    close(fd);
    expect_tar(dir);
    free(one);
    remove_temp_dir(dir);
}

static void open_lmdb(void *dir)
{
    struct dataset_source s = pack_source(dir, false);

    dataset_close(dataset_open("lmdb", &s));
}

/* Pages of an LMDB that liblmdb would trust. Its file has three: two heads, whose newer one
 * has the root at byte 4096 + 128, and a leaf; byte offsets as in lmdb_check.c. */
static void a_damaged_lmdb_is_refused(void **state)
{
    static const struct {
        int64_t at;
        const char *bytes, *why;
    } rows[] = {
        {16, "x", "it is no LMDB that this machine can read"},
        {4096 + 16 + 24, "\xff", "it is no LMDB"}, /* the size of a page */
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
        char *dir = copy_golden("lmdb");

        write_at(dir, "train.lmdb/data.mdb", rows[r].at, rows[r].bytes);
        check_dies(open_lmdb, dir, rows[r].why);
        remove_temp_dir(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_lmdb_is_refused),
        cmocka_unit_test(others_files_are_read),
        cmocka_unit_test(braces_name_files),
        cmocka_unit_test(a_split_may_name_files),
        cmocka_unit_test(folders_in_a_tar_are_classes),
        cmocka_unit_test(a_cut_tar_has_a_damaged_sample),
        cmocka_unit_test(damaged_pixels_are_found),
        cmocka_unit_test(damage_stays_where_it_is),
        cmocka_unit_test(an_index_is_kept_and_checked),
        cmocka_unit_test(the_index_is_what_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
