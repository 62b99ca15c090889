/* io/pt2_file: weights of archives of torch.export.save, and damaged archives. The values
 * are compared with PyTorch's in tests/pt2/test_pt2_golden.c. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "io/weights_file.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/pt2/"

static void test_weights(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const struct safetensors_tensor *t;
    struct weights_file f;

    (void)state;
    assert_int_equal(weights_file_open(&f, GOLDEN "residual.pt2", true, &why), 0);
    assert_true(f.pt2);
    assert_false(f.torch || f.by_trainc);
    t = weights_file_find(&f, "conv2.weight");
    assert_non_null(t);
    assert_int_equal(t->ndim, 4);
    assert_int_equal(t->dims[1], 3);
    assert_int_equal(t->size, 6 * 3 * 3 * 3 * 4);
    t = weights_file_find(&f, "bn1.num_batches_tracked");
    assert_int_equal(t->dtype, SAFETENSORS_I64);
    assert_null(weights_file_find(&f, "conv3.weight"));
    assert_null(weights_file_meta(&f, "config"));
    assert_int_equal(weights_file_verify(&f, &why), 0);
    weights_file_close(&f);
    strbuf_release(&why);
}

/* Of the metadata of other weights, an archive has only class names. */
static void test_classes(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file f;

    (void)state;
    assert_int_equal(weights_file_open(&f, GOLDEN "recurrent.pt2", true, &why), 0);
    assert_string_equal(weights_file_meta(&f, "classes"),
                        "[\"circle\", \"ring\", \"square\", \"star\", \"triangle\"]");
    assert_null(weights_file_meta(&f, "input"));
    weights_file_close(&f);
    assert_int_equal(weights_file_open(&f, GOLDEN "versions_2.6.pt2", true, &why), 0);
    assert_null(weights_file_meta(&f, "classes"));
    weights_file_close(&f);
    strbuf_release(&why);
}

/* A transposed tensor is read row by row: element [1,0] is the second of the storage. */
static void test_strides(void **state)
{
    struct strbuf why = STRBUF_INIT, raw = STRBUF_INIT;
    const struct safetensors_tensor *t;
    struct pt2_file f;
    float dst[5 * 48], storage[48 * 5];

    (void)state;
    assert_int_equal(pt2_file_open(&f, GOLDEN "strides.pt2", &why), 0);
    t = strmap_get(&f.index, "transposed");
    assert_int_equal(pt2_file_read(&f, t, dst, &why), 0);
    assert_int_equal(pt2_file_text(&f, "data/weights/weight_0", &raw, &why), 0);
    assert_int_equal(raw.len, sizeof(storage));
    memcpy(storage, raw.buf, sizeof(storage));
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 48; k++)
            assert_true(dst[i * 48 + k] == storage[k * 5 + i]);
    assert_null(pt2_file_shared(&f, &t));
    pt2_file_close(&f);
    strbuf_release(&raw);
    strbuf_release(&why);
}

/* Files of torch.save in an archive have the weights and constants of the storages in one. */
static void test_saved(void **state)
{
    static const char *const path[] = {GOLDEN "versions_2.8.pt2",
                                       GOLDEN "versions_2.6.pt2"};
    struct strbuf why = STRBUF_INIT;
    const struct safetensors_tensor *t;
    struct pt2_file want, f;

    (void)state;
    assert_int_equal(pt2_file_open(&want, GOLDEN "versions.pt2", &why), 0);
    for (int i = 0; i < 2; i++) {
        assert_true(pt2_file_is(path[i]));
        assert_int_equal(pt2_file_open(&f, path[i], &why), 0);
        assert_int_equal(f.n, want.n);
        for (size_t k = 0; k < f.n; k++) {
            float a[256], b[256];

            t = strmap_get(&want.index, f.tensor[k].name);
            assert_non_null(t);
            assert_int_equal(t->size, f.tensor[k].size);
            assert_in_range(t->size, 1, sizeof(a));
            assert_int_equal(pt2_file_read(&want, t, a, &why), 0);
            assert_int_equal(pt2_file_read(&f, &f.tensor[k], b, &why), 0);
            assert_memory_equal(a, b, t->size);
        }
        t = strmap_get(&f.index, "second.weight");
        assert_string_equal(pt2_file_tied(&f, t), "first.weight");
        pt2_file_close(&f);
        assert_int_equal(pt2_file_open_constants(&f, path[i], &why), 0);
        assert_true(strmap_has(&f.index, "mean"));
        pt2_file_close(&f);
    }
    pt2_file_close(&want);
    strbuf_release(&why);
}

/* Bare infinities become texts, within texts they stay. */
static void test_program(void **state)
{
    struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
    struct pt2_file f;

    (void)state;
    assert_int_equal(pt2_file_open(&f, GOLDEN "versions_2.6.pt2", &why), 0);
    assert_int_equal(pt2_file_program(&f, &text, &why), 0);
    assert_non_null(strstr(text.buf, ": \"-Infinity\""));
    assert_null(strstr(text.buf, ": -Infinity"));
    pt2_file_close(&f);
    strbuf_release(&text);
    strbuf_release(&why);
}

static void test_other_files(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_true(pt2_file_is(GOLDEN "tied.pt2"));
    assert_false(pt2_file_is("tests/golden/io/stream.pth"));
    assert_false(pt2_file_is("tests/golden/io/missing"));
    strbuf_release(&why);
}

/* Opens the bytes as an archive and reads every tensor; only a crash would be wrong. */
static int feed(int fd, const char *path, const char *data, size_t len)
{
    struct strbuf why = STRBUF_INIT;
    struct pt2_file f;
    int good = 0;

    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, data, len, 0), len);
    if (!pt2_file_open(&f, path, &why))
        for (size_t i = 0; i < f.n; i++) {
            void *dst = xmalloc((size_t)f.tensor[i].size + 1);

            good += !pt2_file_read(&f, &f.tensor[i], dst, &why);
            free(dst);
        }
    else
        assert_true(why.len > 0);
    pt2_file_close(&f);
    strbuf_release(&why);
    return good;
}

static void damage(const char *source, int tensors, size_t every)
{
    int fd = memfd_create("damaged", 0);
    char *path = xasprintf("/proc/self/fd/%d", fd);
    size_t len;
    char *data = file_read(source, &len);

    assert_int_equal(feed(fd, path, data, len), tensors);
    for (size_t i = 0; i < len; i += every) {
        char was = data[i];

        data[i] = (char)(was ^ 0x15);
        (void)feed(fd, path, data, len);
        data[i] = was;
    }
    for (size_t cut = 1; cut < len; cut += 1021)
        assert_int_equal(feed(fd, path, data, len - cut), 0);
    (void)close(fd);
    free(path);
    free(data);
}

static void test_damage(void **state)
{
    (void)state;
    damage(GOLDEN "strides.pt2", 3, 11);
    damage(GOLDEN "versions_2.6.pt2", 17, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights), cmocka_unit_test(test_strides),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_saved),
        cmocka_unit_test(test_program), cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
