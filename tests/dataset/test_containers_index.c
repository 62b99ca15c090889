/* The index of the samples' positions in containers. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/decoded.h"
#include "dataset/sample_index.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static void expect_tar(const char *dir)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("tar", &s);

    assert_int_equal(d->n, GOLDEN_N);
    for (int i = 0; i < GOLDEN_N; i++) {
        golden_expect_image(d, i);
        assert_int_equal(dataset_label(d, i), golden_label[i]);
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

/* The index is used, rebuilt if it or a container has changed, and not written for
 * recently changed files. */
static void an_index_is_kept_and_checked(void **state)
{
    char *dir = golden_copy("tar"), *index, *second;

    (void)state;
    expect_tar(dir);
    assert_null(index_in(dir)); /* files changed in this second may still change */
    make_old(dir, "train-00.tar", 100);
    make_old(dir, "train-01.tar", 100);
    expect_tar(dir);
    index = index_in(dir);
    assert_non_null(index);
    expect_tar(dir);
    for (int from_end = 1; from_end < 300; from_end += 37) {
        flip_byte(dir, index, from_end);
        expect_tar(dir); /* rebuilt, and therefore intact */
    }
    make_old(dir, "train-00.tar", 90); /* as if it were rewritten */
    remove_file(dir, index);
    expect_tar(dir);
    second = index_in(dir);
    assert_string_not_equal(index, second);
    free(index);
    free(second);
    remove_temp_dir(dir);
}

/* The second start reads the index instead of the container: it cannot notice a destroyed
 * header as long as the container's size and time are unchanged. */
static void the_index_is_what_is_read(void **state)
{
    char *dir = golden_copy("tar"), *one = path_join(dir, "train-00.tar");
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

static void expect_recordio(const char *dir, int first)
{
    struct dataset_source s = pack_source(dir, false);
    struct dataset *d = dataset_open("recordio", &s);

    assert_int_equal(d->n, GOLDEN_N);
    for (int i = 0; i < GOLDEN_N; i++)
        golden_expect_image_of(d, i, (first + i) % GOLDEN_N);
    dataset_close(d);
}

/* The order of the records is that of the .idx file, so a changed .idx changes the
 * list. */
static void an_index_is_of_the_companions_too(void **state)
{
    char *dir = golden_copy("recordio"), *path = path_join(dir, "train.idx"), *text,
         *line;
    struct strbuf other = STRBUF_INIT;

    (void)state;
    make_old(dir, "train.rec", 100);
    make_old(dir, "train.idx", 100);
    expect_recordio(dir, 0);
    text = file_read(path, NULL);
    line = strchr(text, '\n') + 1;
    strbuf_addf(&other, "%s%.*s", line, (int)(line - text), text);
    make_file(dir, "train.idx", other.buf, other.len);
    make_old(dir, "train.idx", 90);
    expect_recordio(dir, 1);
    free(text);
    free(path);
    strbuf_release(&other);
    remove_temp_dir(dir);
}

/* So does the list of label maps, of which only those after the damage are lost. */
static void an_index_is_of_the_label_maps_too(void **state)
{
    char *src = make_label_maps(), *dir = make_temp_dir();
    struct dataset_source list = pack_source(src, true), s = pack_source(dir, true);
    struct dataset *d = dataset_open("list", &list);
    struct strbuf why = STRBUF_INIT;
    struct dataset_bytes bytes = {0};
    char *labels = path_join(dir, "train.labels.rec"), *data;
    int good = 0;
    size_t len;

    (void)state;
    (void)pack_to("recordio", d, dir, 0, NULL);
    dataset_close(d);
    make_old(dir, "train.rec", 100);
    make_old(dir, "train.idx", 100);
    make_old(dir, "train.labels.rec", 100);
    dataset_close(dataset_open("recordio", &s));
    data = file_read(labels, &len);
    make_file(dir, "train.labels.rec", data, len / 2);
    make_old(dir, "train.labels.rec", 90);
    d = dataset_open("recordio", &s);
    assert_int_equal(d->n, PACK_IMAGES);
    while (good < PACK_IMAGES &&
           dataset_read_label(d, good, GOLDEN_LIMIT, &bytes, &why) == 0)
        good++;
    assert_in_range(good, PACK_IMAGES / 3, PACK_IMAGES * 2 / 3);
    for (int i = good; i < PACK_IMAGES; i++) {
        strbuf_reset(&why);
        assert_int_equal(dataset_read_label(d, i, GOLDEN_LIMIT, &bytes, &why), -1);
        assert_non_null(strstr(why.buf, "truncated"));
        assert_int_equal(dataset_read(d, i, GOLDEN_LIMIT, &bytes, &why), 0);
    }
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    free(data);
    free(labels);
    remove_temp_dir(src);
    remove_temp_dir(dir);
}

extern const struct container container_decoded, container_recordio;

/* Writes an index with a valid checksum and `sample` as the only sample of dir/name. */
static void forge_index(const struct container *c, char *dir, const char *name,
                        bool label_maps, struct sample sample)
{
    char *path = path_join(dir, name);
    struct keep_paths index;
    struct samples s = {.type = c,
                        .label_maps = label_maps,
                        .path = &path,
                        .nfile = 1,
                        .sample = &sample};

    s.base.n = 1;
    make_old(dir, name, 100);
    index = sample_index_paths(&s, &(struct keep){.data = dir, .dir = dir});
    assert_non_null(index.user);
    sample_index_save(&s, &index);
    keep_paths_release(&index);
    free(path);
}

static void expect_refused(struct dataset *d, bool label_map, const char *reason)
{
    struct strbuf why = STRBUF_INIT;
    struct dataset_bytes bytes = {0};

    assert_int_equal(d->n, 1); /* the index was used */
    assert_int_equal(
        (label_map ? dataset_read_label : dataset_read)(d, 0, GOLDEN_LIMIT, &bytes, &why),
        -1);
    if (!strstr(why.buf, reason))
        fail_msg("'%s', not '%s'", why.buf, reason);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    dataset_close(d);
}

/* An index may come with a downloaded container: reading reports invalid positions, and
 * labels that list() never sets make the index invalid. */
static void a_forged_index_is_harmless(void **state)
{
    char *src = make_classes(), *dir = golden_copy("recordio"),
         *decoded = make_temp_dir();
    struct dataset_source in = pack_source(src, false), s = pack_source(dir, true);
    struct sample none = {.image.len = 1, .label_map.len = 1, .label = -1, .name = "a"};
    struct sample far = {.image = {99, 1, 0}, .name = "a"}, text = far;
    struct dataset *d;

    (void)state;
    make_old(dir, "train.idx", 100);
    forge_index(&container_recordio, dir, "train.rec", true, none);
    expect_refused(dataset_open("recordio", &s), true, "no label map file");

    d = dataset_open("folder", &in);
    (void)pack_to("decoded", d, decoded, 0, NULL);
    dataset_close(d);
    s = pack_source(decoded, false);
    forge_index(&container_decoded, decoded, "train.decoded", false, far);
    expect_refused(dataset_open("decoded", &s), false, "no sample 99");
    text.label = SAMPLE_TEXT; /* but there is no text */
    forge_index(&container_decoded, decoded, "train.decoded", false, text);
    d = dataset_open("decoded", &s);
    assert_int_equal(d->n, PACK_IMAGES);
    dataset_close(d);
    remove_temp_dir(src);
    remove_temp_dir(dir);
    remove_temp_dir(decoded);
}

/* Labels with a special meaning elsewhere (text or damage), or that do not fit an int. */
static void labels_of_decoded_are_classes(void **state)
{
    static const int64_t label[] = {SAMPLE_TEXT, SAMPLE_DAMAGED, (int64_t)1 << 32};
    char *src = make_classes(), *dir = make_temp_dir(), *path, *data;
    struct dataset_source in = pack_source(src, false);
    struct dataset *d = dataset_open("folder", &in);
    struct decoded_head *h;
    size_t len;

    (void)state;
    (void)pack_to("decoded", d, dir, 0, NULL);
    dataset_close(d);
    path = path_join(dir, "train.decoded");
    data = file_read(path, &len);
    h = (struct decoded_head *)data;
    for (int i = 0; i < 3; i++) {
        struct decoded_row *row = (struct decoded_row *)(data + h->rows);
        struct strbuf why = STRBUF_INIT;

        row->label = label[i];
        h->sum = XXH3_64bits(row, h->n * sizeof(*row));
        make_file(dir, "train.decoded", data, len);
        assert_null(container_decoded.open(path, &why));
        assert_string_equal(why.buf, "its table has a label that is not a class");
        strbuf_release(&why);
    }
    free(data);
    free(path);
    remove_temp_dir(src);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_is_kept_and_checked),
        cmocka_unit_test(the_index_is_what_is_read),
        cmocka_unit_test(an_index_is_of_the_companions_too),
        cmocka_unit_test(an_index_is_of_the_label_maps_too),
        cmocka_unit_test(a_forged_index_is_harmless),
        cmocka_unit_test(labels_of_decoded_are_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
