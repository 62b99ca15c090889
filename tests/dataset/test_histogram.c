/* Class histograms: counts, weights, and their file. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "dataset/class_set.h"
#include "dataset/histogram.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { N = 12, W = 40, H = 24 };

static const struct label_options nine = {.classes = 9};

/* Returns the value of pixel p in label map i, of W x H. */
static uint8_t value(int i, int p)
{
    int v = (p % W * 3 + p / W * 7 + i) % 11;

    return (uint8_t)(v == 10 ? 255 : v == 8 ? 0 : v == 9 ? 1 : v); /* class 8 is absent */
}

static void make_one(const char *dir, int i, int shift)
{
    char *image = xasprintf("%02d.jpg", i), *label = xasprintf("%02d.png", i);
    uint8_t v[W * H];

    for (int p = 0; p < W * H; p++)
        v[p] = value(i + shift, p);
    make_image(dir, image, W, H, i);
    make_label(dir, label, W, H, v);
    free(image);
    free(label);
}

static char *make_data(void)
{
    char *dir = make_temp_dir();
    struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < N; i++) {
        make_one(dir, i, 0);
        strbuf_addf(&list, "%02d.jpg %02d.png\n", i, i);
    }
    make_file(dir, "train.txt", list.buf, list.len);
    strbuf_release(&list);
    return dir;
}

static struct histogram_options plain(const char *dir, const char *keep)
{
    return (struct histogram_options){
        .w = W, .h = H, .divisor = 1, .max_bad_share = 0.3, .keep = {dir, keep}};
}

static struct histogram count(const char *dir, const struct histogram_options *o)
{
    struct dataset *d = open_labels("list", dir, &nine);
    struct histogram h;

    histogram_count(&h, d, o);
    dataset_close(d);
    return h;
}

/* Counts pixel by pixel, at the centers of w x h_ pixels divided by d. */
static void expect(const struct histogram *h, int w, int h_, int d)
{
    int64_t want[256] = {0}, total = 0;

    for (int i = 0; i < N; i++)
        for (int y = 0; y < h_ / d; y++)
            for (int x = 0; x < w / d; x++) {
                int sx = (int)((d * x + d / 2 + 0.5) * W / w);
                int sy = (int)((d * y + d / 2 + 0.5) * H / h_);

                want[value(i, sy * W + sx)]++;
                total++;
            }
    assert_memory_equal(h->count, want, sizeof(want));
    assert_int_equal(h->total, total);
}

static void counts_are_right(void **state)
{
    char *dir = make_data();
    struct histogram_options o = plain(NULL, NULL);
    struct histogram h = count(dir, &o);

    (void)state;
    assert_false(h.cached);
    expect(&h, W, H, 1);
    o.divisor = 8;
    h = count(dir, &o);
    expect(&h, W, H, 8);
    o.divisor = 1;
    o.w = 20; /* fits to 20 x 12 for any height */
    h = count(dir, &o);
    expect(&h, 20, 12, 1);
    remove_temp_dir(dir);
}

static int files_in(const char *dir)
{
    int n, found = 0;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++)
        found += strncmp(name[i], ".trainc-classes-", 16) == 0;
    dir_list_free(name, n);
    return found;
}

static void kept_next_to_the_data(void **state)
{
    char *dir = make_data(), *path;
    struct histogram_options o = plain(dir, dir);
    struct histogram first = count(dir, &o), again = count(dir, &o), other;
    struct dataset *d;
    struct label_options ten = {.classes = 10};

    (void)state;
    assert_false(first.cached);
    assert_true(again.cached);
    assert_memory_equal(first.count, again.count, sizeof(first.count));
    assert_int_equal(first.total, again.total);
    assert_int_equal(files_in(dir), 1);

    o.divisor = 8; /* different options, different file */
    assert_false(count(dir, &o).cached);
    assert_int_equal(files_in(dir), 2);
    o.divisor = 1;
    d = open_labels("list", dir, &ten); /* other meaning of values */
    histogram_count(&other, d, &o);
    assert_false(other.cached);
    dataset_close(d);

    make_one(dir, 3, 1); /* a label file changed */
    other = count(dir, &o);
    assert_false(other.cached);
    assert_true(memcmp(other.count, first.count, sizeof(first.count)) != 0);
    assert_true(count(dir, &o).cached);
    path = path_join(dir, "05.png"); /* only its time changes */
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){{1, 2}, {3, 4}}, 0),
                     0);
    assert_false(count(dir, &o).cached);
    free(path);
    remove_temp_dir(dir);
}

/* A stored file that is truncated or has another key is not used. */
static void damaged_files_are_not_believed(void **state)
{
    char *dir = make_data(), *path = NULL, *text;
    struct histogram_options o = plain(dir, dir);
    struct histogram first = count(dir, &o), again;
    int n;
    char **name = dir_list(dir, &n);
    size_t len;

    (void)state;
    for (int i = 0; i < n; i++)
        if (strncmp(name[i], ".trainc-classes-", 16) == 0)
            path = path_join(dir, name[i]);
    assert_non_null(path);
    dir_list_free(name, n);
    text = file_read(path, &len);
    for (size_t cut = 0; cut < len - 1; cut += cut + 41 < len - 20 ? 41 : 1) {
        assert_int_equal(atomic_write_file(path, text, cut), 0);
        again = count(dir, &o);
        assert_false(again.cached);
        assert_memory_equal(first.count, again.count, sizeof(first.count));
    }
    text[strlen("trainc class histogram 1 key ")] ^= 1;
    assert_int_equal(atomic_write_file(path, text, len), 0);
    assert_false(count(dir, &o).cached);
    assert_true(count(dir, &o).cached);
    free(text);
    free(path);
    remove_temp_dir(dir);
}

/* A stored file with impossible counts but the right total is not used: `line` replaces
 * the line "0 COUNT". */
static void impossible_counts_are_not_believed(void **state)
{
    static const char *const line[] = {"\n0 -5\n", "\n0 9223372036854775807\n",
                                       "\n1 7\n"};
    char *dir = make_data(), *path = NULL, *text;
    struct histogram_options o = plain(dir, dir);
    struct histogram first = count(dir, &o);
    char **name, *second, *rest;
    int n;

    (void)state;
    name = dir_list(dir, &n);
    for (int i = 0; i < n; i++)
        if (strncmp(name[i], ".trainc-classes-", 16) == 0)
            path = path_join(dir, name[i]);
    dir_list_free(name, n);
    text = file_read(path, NULL);
    second = strstr(text, "\n1 ");
    rest = strstr(text, "total ");
    *strchr(text, '\n') = *rest = '\0';
    for (int i = 0; i < 3; i++) {
        uint64_t instead = i == 1 ? INT64_MAX : i == 0 ? (uint64_t)-5 : 7;
        uint64_t total = (uint64_t)(first.total - first.count[0]) + instead;
        char *new =
            xasprintf("%s%s%stotal %lld\n", text, line[i], second + 1, (long long)total);

        assert_int_equal(atomic_write_file(path, new, strlen(new)), 0);
        assert_false(count(dir, &o).cached);
        free(new);
    }
    free(text);
    free(path);
    remove_temp_dir(dir);
}

/* Lines beyond the last class, whose counts would be outside the array. */
static void lines_of_no_class_are_not_believed(void **state)
{
    char *dir = make_temp_dir(), *path = path_join(dir, "kept.txt");
    struct strbuf text = STRBUF_INIT;
    struct histogram h;

    (void)state;
    strbuf_addstr(&text, "trainc class histogram 1 key 000000000000002a\n");
    for (int v = 0; v < 256; v++)
        strbuf_addf(&text, "%d 1\n", v);
    strbuf_addstr(&text, "total 256\n");
    make_file(dir, "kept.txt", text.buf, text.len);
    assert_true(histogram_load(&h, path, 42));
    assert_false(histogram_load(&h, path, 43));
    text.len -= strlen("total 256\n");
    for (int v = 256; v < 20000; v++)
        strbuf_addf(&text, "%d 0\n", v);
    strbuf_addstr(&text, "total 256\n");
    make_file(dir, "kept.txt", text.buf, text.len);
    assert_false(histogram_load(&h, path, 42));
    strbuf_release(&text);
    free(path);
    remove_temp_dir(dir);
}

static void without_a_folder(void *dir)
{
    struct histogram_options o = plain(dir, "/proc/none");

    (void)count(dir, &o);
}

static void count_damaged(void *dir)
{
    struct histogram_options o = plain(dir, dir);

    (void)count(dir, &o);
}

static void said_and_gone_on(void **state)
{
    char *dir = make_data(), *text;
    int code;

    (void)state;
    text = child_run(without_a_folder, dir, &code);
    assert_int_equal(code, 0);
    assert_non_null(
        strstr(text, "cannot cache data set indexes in '/proc/none': No such file"));
    free(text);
    make_file(dir, "03.png", "x", 1);
    text = child_run(count_damaged, dir, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "03.jpg (train.txt:4)': cannot decode it: its label"));
    assert_int_equal(files_in(dir), 0); /* the file would hide the damage next time */
    free(text);
    make_file(dir, "04.png", "x", 1);
    make_file(dir, "05.png", "x", 1);
    make_file(dir, "06.png", "x", 1);
    check_dies(count_damaged, dir, "4 of 12 files are damaged");
    remove_temp_dir(dir);
}

/* The shares of Cityscapes' classes give the weights of ERFNet's scripts. */
static void weights_of_erfnet(void **state)
{
    struct histogram h = {.total = 100000};
    float w[20];

    (void)state;
    h.count[0] = 32654;
    h.count[1] = 5392;
    h.count[2] = 87;
    histogram_weights(&h, 20, 1.1, w);
    if (!(fabs((double)w[0] - 2.81492) < 1e-4 && fabs((double)w[1] - 6.98500) < 1e-4 &&
          fabs((double)w[2] - 10.40536) < 5e-3))
        fail_msg("%g %g %g", (double)w[0], (double)w[1], (double)w[2]);
    assert_true(w[19] == 0);
    histogram_weights(&h, 20, 1.2, w);
    if (!(fabs((double)w[0] - 2.3636) < 1e-3))
        fail_msg("%g", (double)w[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(said_and_gone_on), /* first: no child may inherit threads */
        cmocka_unit_test(counts_are_right),
        cmocka_unit_test(kept_next_to_the_data),
        cmocka_unit_test(damaged_files_are_not_believed),
        cmocka_unit_test(impossible_counts_are_not_believed),
        cmocka_unit_test(lines_of_no_class_are_not_believed),
        cmocka_unit_test(weights_of_erfnet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
