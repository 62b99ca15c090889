/* CIFAR and MNIST in their original files: values, classes, splits, and damage. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "tests/child.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { PIXELS = 3072 };

/* Value p of image i: red, green, and blue planes differ. */
static uint8_t value(int i, int p)
{
    return (uint8_t)(7 * i + p / 1024 * 50 + p % 31);
}

static void put(struct strbuf *s, const void *data, size_t len)
{
    strbuf_add(s, data, len);
}

static void put_pixels(struct strbuf *s, int i)
{
    for (int p = 0; p < PIXELS; p++)
        strbuf_addch(s, (char)value(i, p));
}

/* n images of classes first, first + 1, ...; `coarse`: preceded by a superclass. */
static void make_binary(const char *dir, const char *name, int n, int first, bool coarse)
{
    struct strbuf s = STRBUF_INIT;

    for (int i = 0; i < n; i++) {
        if (coarse)
            strbuf_addch(&s, 19);
        strbuf_addch(&s, (char)(first + i));
        put_pixels(&s, first + i);
    }
    make_file(dir, name, s.buf, s.len);
    strbuf_release(&s);
}

static void put_short(struct strbuf *s, const char *text)
{
    strbuf_addch(s, 'U');
    strbuf_addch(s, (char)strlen(text));
    strbuf_addstr(s, text);
}

/* In the format of Python 2's cPickle with protocol 2, as in the archives. */
static void make_pickle(const char *dir, const char *name, const char *labels, int n,
                        int first)
{
    static const char begin[] = "\x80\x02}q\x01(";
    static const char array[] = "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
                                "K\x00\x85U\x01\x62\x87R(K\x01K";
    static const char type[] =
        "M\x00\x0c\x86" /* 3072 columns */
        "cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        "(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89";
    uint32_t len = (uint32_t)n * PIXELS;
    struct strbuf s = STRBUF_INIT;

    put(&s, begin, sizeof(begin) - 1);
    put_short(&s, "data");
    put(&s, array, sizeof(array) - 1);
    strbuf_addch(&s, (char)n);
    put(&s, type, sizeof(type) - 1);
    strbuf_addch(&s, 'T');
    put(&s, &len, sizeof(len));
    for (int i = 0; i < n; i++)
        put_pixels(&s, first + i);
    strbuf_addstr(&s, "tb");
    put_short(&s, labels);
    strbuf_addstr(&s, "](");
    for (int i = 0; i < n; i++) {
        strbuf_addch(&s, 'K');
        strbuf_addch(&s, (char)(first + i));
    }
    strbuf_addstr(&s, "eu.");
    make_file(dir, name, s.buf, s.len);
    strbuf_release(&s);
}

static void make_names(const char *dir, const char *name, const char *key, int n)
{
    struct strbuf s = STRBUF_INIT;

    put(&s, "\x80\x02}(", 4);
    put_short(&s, key);
    strbuf_addstr(&s, "](");
    for (int i = 0; i < n; i++) {
        char text[16];

        (void)snprintf(text, sizeof(text), "name%d", i);
        put_short(&s, text);
    }
    strbuf_addstr(&s, "eu.");
    make_file(dir, name, s.buf, s.len);
    strbuf_release(&s);
}

/* Fails unless sample i is image `number` of this class. */
static void check_image(const struct dataset *d, int64_t i, int number, int class)
{
    static const char head[] = "P6 32 32 255\n";
    struct dataset_bytes b = {0};
    struct strbuf why = STRBUF_INIT;

    assert_int_equal(dataset_label(d, i), class);
    assert_int_equal(dataset_read(d, i, 4000, &b, &why), 0);
    assert_int_equal(b.len, strlen(head) + PIXELS);
    assert_memory_equal(b.data, head, strlen(head));
    for (int p = 0; p < 1024; p++)
        for (int c = 0; c < 3; c++)
            if (b.data[strlen(head) + (size_t)(3 * p + c)] != value(number, 1024 * c + p))
                fail_msg("image %d: pixel %d, channel %d", number, p, c);
    assert_int_equal(dataset_read(d, i, 3000, &b, &why), -1);
    strbuf_release(&why);
    dataset_bytes_release(&b);
}

static struct dataset *open_split(const char *storage, const char *dir, const char *split)
{
    const struct dataset_source s = {.path = dir, .split = split};

    return dataset_open(storage, &s);
}

/* Five training files and one test file, with two images each; opens the folder itself or
 * its parent. */
static void check_cifar10(const char *parent, const char *dir, const char *last_name)
{
    struct dataset *d = open_split("cifar", dir, "train");
    struct strbuf name = STRBUF_INIT;

    assert_int_equal(d->n, 10);
    assert_int_equal(d->nclass, 10);
    assert_string_equal(d->class_name[9], last_name);
    for (int i = 0; i < 10; i++)
        check_image(d, i, i, i);
    dataset_describe(d, 9, &name);
    assert_non_null(strstr(name.buf, "data_batch_5"));
    assert_non_null(strstr(name.buf, ":1"));
    strbuf_release(&name);
    dataset_close(d);
    d = open_split("cifar", parent, "val");
    assert_int_equal(d->n, 1);
    check_image(d, 0, 3, 3);
    dataset_close(d);
}

static void cifar10(void **state)
{
    char *root = make_temp_dir(), *binary = xasprintf("%s/b/cifar-10-batches-bin", root),
         *python = xasprintf("%s/p/cifar-10-batches-py", root),
         *above_b = xasprintf("%s/b", root), *above_p = xasprintf("%s/p", root);

    (void)state;
    for (int k = 1; k <= 5; k++) {
        char *name = xasprintf("data_batch_%d.bin", k);

        make_binary(binary, name, 2, 2 * (k - 1), false);
        name[strlen(name) - 4] = '\0';
        make_pickle(python, name, "labels", 2, 2 * (k - 1));
        free(name);
    }
    make_binary(binary, "test_batch.bin", 1, 3, false);
    make_pickle(python, "test_batch", "labels", 1, 3);
    make_names(python, "batches.meta", "label_names", 10);
    make_file(binary, "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\ntruck\n\n", 25);
    check_cifar10(above_b, binary, "truck");
    check_cifar10(above_p, python, "name9");
    remove_temp_dir(root);
    free(binary);
    free(python);
    free(above_b);
    free(above_p);
}

/* The class is the second byte; without a file of names, numbers are the names. */
static void cifar100(void **state)
{
    char *dir = make_temp_dir(), *python = xasprintf("%s/cifar-100-python", dir);
    struct dataset *d;

    (void)state;
    make_binary(dir, "train.bin", 3, 97, true);
    make_binary(dir, "test.bin", 1, 5, true);
    d = open_split("cifar", dir, "train");
    assert_int_equal(d->n, 3);
    assert_int_equal(d->nclass, 100);
    assert_string_equal(d->class_name[97], "97");
    check_image(d, 2, 99, 99);
    dataset_close(d);
    remove_file(dir, "train.bin");
    make_pickle(python, "train", "fine_labels", 3, 97);
    make_names(python, "meta", "fine_label_names", 100);
    d = open_split("cifar", dir, "train");
    assert_string_equal(d->class_name[99], "name99");
    check_image(d, 2, 99, 99);
    dataset_close(d);
    remove_temp_dir(dir);
    free(python);
}

static void refuses_cifar(const char *dir, const char *split, const char *why)
{
    struct opening o = {"cifar", {.path = dir, .split = split}};

    check_dies(open_and_close, &o, why);
}

static void cifar_refuses(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    refuses_cifar(dir, "train", "has no folder cifar-10-batches-bin");
    refuses_cifar(dir, "extra", "have no split 'extra'");
    make_binary(dir, "train.bin", 2, 0, false);
    refuses_cifar(dir, "train", "train.bin' is damaged or of another data set: its 6146");
    make_binary(dir, "train.bin", 1, 100, true);
    refuses_cifar(dir, "train",
                  "train.bin:0: class index 100 is out of range: the data set has 100");
    make_binary(dir, "data_batch_1.bin", 1, 1, false);
    refuses_cifar(dir, "train", "has no file data_batch_2.bin");
    remove_temp_dir(dir);
    dir = make_temp_dir();
    make_names(dir, "meta", "fine_label_names", 100);
    make_file(dir, "train", "\x80\x02}.", 4);
    refuses_cifar(dir, "train",
                  "train' is no file of CIFAR: it needs a dict with 'data'");
    make_file(dir, "train", "hello", 5);
    refuses_cifar(dir, "train", "train' is no pickle that can be read");
    make_pickle(dir, "train", "labels", 3, 0);
    refuses_cifar(dir, "train", "a list 'fine_labels'");
    remove_temp_dir(dir);
}

static void put_big(struct strbuf *s, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        strbuf_addch(s, (char)(v >> shift));
}

/* n images of 4 x 2 pixels (width x height), or n labels; the file is `extra` bytes too
 * long or too short. */
static void make_idx(const char *dir, const char *name, bool images, int n, int extra)
{
    struct strbuf s = STRBUF_INIT;

    put_big(&s, images ? 0x803 : 0x801);
    put_big(&s, (uint32_t)n);
    if (images) {
        put_big(&s, 2);
        put_big(&s, 4);
    }
    for (int i = 0; i < n * (images ? 8 : 1) + extra; i++)
        strbuf_addch(&s, (char)(images ? 3 * i : i % 7));
    make_file(dir, name, s.buf, s.len);
    strbuf_release(&s);
}

static void check_mnist(const char *dir, const char *split, int n)
{
    struct dataset *d = open_split("mnist", dir, split);
    struct dataset_bytes b = {0};
    struct strbuf why = STRBUF_INIT;

    assert_int_equal(d->n, n);
    assert_int_equal(d->nclass, 10);
    assert_string_equal(d->class_name[9], "9");
    for (int i = 0; i < n; i++) {
        assert_int_equal(dataset_label(d, i), i % 7);
        assert_int_equal(dataset_read(d, i, 1000, &b, &why), 0);
        assert_int_equal(b.len, 11 + 8);
        assert_memory_equal(b.data, "P5 4 2 255\n", 11);
        for (int p = 0; p < 8; p++)
            assert_int_equal(b.data[11 + p], (uint8_t)(3 * (8 * i + p)));
    }
    dataset_bytes_release(&b);
    strbuf_release(&why);
    dataset_close(d);
}

static void compress_file(const char *dir, const char *name)
{
    char *path = path_join(dir, name), *dst = xasprintf("%s.gz", path);
    size_t len;
    char *data = file_read(path, &len);
    gzFile gz = gzopen(dst, "wb");

    assert_int_equal(gzwrite(gz, data, (unsigned)len), len);
    (void)gzclose(gz);
    (void)unlink(path);
    free(data);
    free(path);
    free(dst);
}

static void mnist(void **state)
{
    char *root = make_temp_dir(), *raw = xasprintf("%s/MNIST/raw", root);

    (void)state;
    make_idx(raw, "train-images-idx3-ubyte", true, 20, 0);
    make_idx(raw, "train-labels-idx1-ubyte", false, 20, 0);
    make_idx(raw, "t10k-images.idx3-ubyte", true, 3, 0);
    make_idx(raw, "t10k-labels.idx1-ubyte", false, 3, 0);
    check_mnist(raw, "train", 20);
    check_mnist(root, "", 20);
    check_mnist(root, "test", 3);
    compress_file(raw, "train-images-idx3-ubyte");
    compress_file(raw, "train-labels-idx1-ubyte");
    check_mnist(root, "train", 20);
    remove_temp_dir(root);
    free(raw);
}

static void refuses_mnist(const char *dir, const char *why)
{
    struct opening o = {"mnist", {.path = dir, .split = "train"}};

    check_dies(open_and_close, &o, why);
}

static void mnist_refuses(void **state)
{
    char *dir = make_temp_dir();

    (void)state;
    refuses_mnist(dir, "has no file train-images-idx3-ubyte");
    make_idx(dir, "train-images-idx3-ubyte", true, 20, 0);
    refuses_mnist(dir, "has no file train-labels-idx1-ubyte");
    make_idx(dir, "train-labels-idx1-ubyte", false, 19, 0);
    refuses_mnist(dir, "ubyte' has 20 images, and '");
    make_idx(dir, "train-labels-idx1-ubyte", false, 20, -1);
    refuses_mnist(dir, "train-labels-idx1-ubyte' is cut off");
    make_idx(dir, "train-labels-idx1-ubyte", false, 20, 1);
    refuses_mnist(dir, "it has more than the 20 values");
    make_idx(dir, "train-labels-idx1-ubyte", true, 20, 0);
    refuses_mnist(dir,
                  "is no IDX file of uint8 with 1 dimension: it starts with 00000803");
    make_file(dir, "train-images-idx3-ubyte",
              "\0\0\x08\x03\xff\xff\xff\xff\0\0\x10\0\0\0\x10\0", 16);
    refuses_mnist(dir, "is damaged: a dimension is");
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cifar10),       cmocka_unit_test(cifar100),
        cmocka_unit_test(cifar_refuses), cmocka_unit_test(mnist),
        cmocka_unit_test(mnist_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
