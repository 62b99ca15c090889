/* io/pth: files of torch.save (scripts/golden/io_pth.py), intact and damaged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/half.h"
#include "io/pth.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/io/"

static char dir[] = "/tmp/trainc-test-XXXXXX";
static char *copy; /* a damaged copy */

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    copy = path_join(dir, "copy.pth");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(copy);
    free(copy);
    return rmdir(dir);
}

static void open_good(struct pth *p, const char *path, bool ema)
{
    struct strbuf why = STRBUF_INIT;

    if (pth_open(p, path, ema, &why))
        fail_msg("%s", why.buf);
}

/* Returns the tensor's bytes after checking dtype and dims, which end with -1. */
static void *read_tensor(const struct pth *p, const char *name, const char *dtype,
                         const int *dims)
{
    const struct safetensors_tensor *t = strmap_get(&p->index, name);
    struct strbuf why = STRBUF_INIT;
    int n = 0;
    void *data;

    if (!t)
        fail_msg("no tensor '%s'", name);
    assert_string_equal(safetensors_dtype_name(t->dtype), dtype);
    for (; dims[n] >= 0; n++)
        assert_int_equal(t->dims[n], dims[n]);
    assert_int_equal(t->ndim, n);
    data = xcalloc(1, t->size + 1);
    if (pth_read(p, t, data, &why))
        fail_msg("%s", why.buf);
    return data;
}

#define DIMS(...)                                                                        \
    (const int[])                                                                        \
    {                                                                                    \
        __VA_ARGS__, -1                                                                  \
    }

static void check_floats(const struct pth *p, const char *name, const int *dims,
                         const float *want, size_t n)
{
    float *got = read_tensor(p, name, "F32", dims);

    for (size_t i = 0; i < n; i++)
        if (!(got[i] == want[i]))
            fail_msg("%s[%zu] is %g and should be %g", name, i, (double)got[i],
                     (double)want[i]);
    free(got);
}

/* Checks everything of weights(0) in the script. */
static void check_weights(const struct pth *p)
{
    static const uint16_t f16[] = {0x3e00, 0xc000, 0x7bff},
                          bf16[] = {0x3f80, 0x4000, 0xff80};
    static const int64_t i64[] = {INT64_MIN, INT64_MAX};
    static const uint8_t flags[] = {1, 0, 1};
    static const double scalar = 0.1;
    float rows[24], last[24];
    void *got;

    for (int i = 0; i < 24; i++) {
        int c = i / 6, h = i / 3 % 2, w = i % 3;

        rows[i] = (float)i;
        last[i] = (float)((h * 3 + w) * 4 + c);
    }
    assert_int_equal(p->n, 12);
    assert_string_equal(p->part, "");
    check_floats(p, "f32", DIMS(2, 3), (const float[]){0, 0.25f, 0.5f, 0.75f, 1, 1.25f},
                 6);
    check_floats(p, "shared.rows", DIMS(4, 6), rows, 24);
    check_floats(p, "shared.part", DIMS(2, 6), rows + 6, 12);
    check_floats(p, "shared.columns", DIMS(3, 2), (const float[]){7, 13, 9, 15, 11, 17},
                 6);
    check_floats(p, "shared.channels_last", DIMS(1, 4, 2, 3), last, 24);
    check_floats(p, "parameter", DIMS(2), (const float[]){0.5f, 0.5f}, 2);
    check_floats(p, "empty", DIMS(0, 3), NULL, 0);
    assert_memory_equal(got = read_tensor(p, "f16", "F16", DIMS(3)), f16, sizeof(f16));
    free(got);
    assert_memory_equal(got = read_tensor(p, "bf16", "BF16", DIMS(3)), bf16,
                        sizeof(bf16));
    free(got);
    assert_memory_equal(got = read_tensor(p, "i64", "I64", DIMS(2)), i64, sizeof(i64));
    free(got);
    assert_memory_equal(got = read_tensor(p, "bool", "BOOL", DIMS(3)), flags,
                        sizeof(flags));
    free(got);
    assert_memory_equal(got = read_tensor(p, "scalar", "F64", (const int[]){-1}), &scalar,
                        sizeof(scalar));
    free(got);
}

static void test_files(void **state)
{
    static const char *const file[] = {"zip.pth", "stream.pth", "protocol5.pth"};
    struct pth p;

    (void)state;
    for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
        char *path = path_join(GOLDEN, file[i]);

        open_good(&p, path, true);
        check_weights(&p);
        pth_close(&p);
        free(path);
    }
    open_good(&p, GOLDEN "float8.pth", true); /* from an untyped storage */
    free(read_tensor(&p, "w", "F8_E4M3", DIMS(2)));
    pth_close(&p);
}

/* Checks which part of a checkpoint is read. */
static void test_checkpoints(void **state)
{
    static const struct {
        const char *path;
        bool ema;
        const char *part;
        float first;
        size_t n;
    } row[] = {
        {GOLDEN "timm.pth.tar", true, "state_dict_ema", 3, 2},
        {GOLDEN "timm.pth.tar", false, "state_dict", 1, 1},
        {GOLDEN "torchvision.pth", true, "model_ema", 3, 2},
        {GOLDEN "torchvision.pth", false, "model", 1, 1},
        {GOLDEN "tutorial.pth", true, "model_state_dict", 1, 1},
        {GOLDEN "dino.pth", true, "teacher", 3, 1},
        {GOLDEN "dino.pth", false, "student", 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct pth p;

        open_good(&p, row[i].path, row[i].ema);
        assert_string_equal(p.part, row[i].part);
        assert_int_equal(p.n, row[i].n);
        check_floats(&p, "module.w", DIMS(2), &row[i].first, 1);
        pth_close(&p);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *path, *reason;
    } row[] = {
        {GOLDEN "module.pth", "a whole Python object (__main__.Scale)"},
        {GOLDEN "module_stream.pth", "a whole Python object (__main__.Scale)"},
        {GOLDEN "script.pth", "a TorchScript program"},
        {GOLDEN "numbers.pth", "no state dict: a list"},
        {GOLDEN "tensor.pth", "no state dict: a single tensor"},
        {GOLDEN "settings.pth", "no state dict: it has no tensors, only 'epoch', 'opt"},
        {GOLDEN "adam.pth", "the state of an optimizer, without weights"},
        {GOLDEN "adam_of_run.pth",
         "it has no tensors, only 'optimizer' (of an optimizer), 'epoch'"},
        {GOLDEN "quantized.pth", "made by 'torch._utils _rebuild_qtensor'"},
        {GOLDEN "python.pkl", "a pickle of Python, but not of torch.save"},
        {GOLDEN "arrays.npz", "a zip archive with 'a.npy' in it: arrays of NumPy"},
        {GOLDEN "two.pth", "both 'net' and 'teacher' hold tensors"},
        {GOLDEN "sparse.pth", "'s' is made by 'torch._utils _rebuild_sparse_tensor'"},
        {GOLDEN "aliases.pth", "tensors would take more than 16 times its size"},
        {GOLDEN "inflated.pth", "storages would take more than 16 times its size"},
        {GOLDEN "negative.pth", "'w' has a negative dimension or stride"},
        {GOLDEN "python.safetensors", "not a PyTorch file"},
        {GOLDEN "nowhere.pth", "cannot open"},
        {"tests", "not a file"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct strbuf why = STRBUF_INIT;
        struct pth p;

        assert_int_equal(pth_open(&p, row[i].path, true, &why), -1);
        if (!strstr(why.buf, row[i].reason) || !strstr(why.buf, row[i].path))
            fail_msg("'%s' instead of '%s'", why.buf, row[i].reason);
        pth_close(&p);
        strbuf_release(&why);
    }
}

/* Without a sync, because there are thousands of files. */
static void write_copy(const char *data, size_t len)
{
    FILE *f;

    (void)unlink(copy); /* truncating a file would wait for the disk */
    f = fopen(copy, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* Opens the damaged copy and reads all tensors; returns how many did not fail. */
static size_t read_copy(void)
{
    struct strbuf why = STRBUF_INIT;
    struct pth p;
    size_t good = 0;

    if (!pth_open(&p, copy, true, &why))
        for (size_t i = 0; i < p.n; i++) {
            char *data = xmalloc(p.tensor[i].size + 1);

            good += !pth_read(&p, &p.tensor[i], data, &why);
            free(data);
        }
    pth_close(&p);
    strbuf_release(&why);
    return good;
}

/* Damage never crashes; a file that is cut off has fewer tensors, or none. */
static void test_damaged(void **state)
{
    static const char *const file[] = {GOLDEN "zip.pth", GOLDEN "stream.pth",
                                       GOLDEN "torchvision.pth"};

    (void)state;
    for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
        size_t len = 0, good;
        char *data = file_read(file[i], &len);

        assert_non_null(data);
        write_copy(data, len);
        good = read_copy();
        assert_true(good > 0);
        for (size_t pos = 0; pos < len; pos += 3) {
            write_copy(data, pos);
            if (read_copy() >= good)
                fail_msg("%s is whole after %zu of %zu bytes", file[i], pos, len);
        }
        for (size_t pos = 0; pos < len; pos++) {
            char was = data[pos];

            data[pos] = (char)(was ^ (1 << pos % 8));
            write_copy(data, len);
            (void)read_copy();
            data[pos] = was;
        }
        free(data);
    }
}

/* A wrong bit in a tensor that fills an entry of the archive is detected by its
 * checksum. */
static void test_sum(void **state)
{
    static const float value[] = {0, 0.25f, 0.5f, 0.75f, 1, 1.25f};
    struct strbuf why = STRBUF_INIT;
    struct pth p;
    size_t len = 0, pos = 0;
    char *data = file_read(GOLDEN "zip.pth", &len);
    float dst[6];

    (void)state;
    assert_non_null(data);
    while (pos + sizeof(value) < len && memcmp(data + pos, value, sizeof(value)) != 0)
        pos++;
    assert_memory_equal(data + pos, value, sizeof(value));
    data[pos + 5] ^= 4;
    write_copy(data, len);
    open_good(&p, copy, true);
    assert_int_equal(pth_read(&p, strmap_get(&p.index, "f32"), dst, &why), -1);
    assert_non_null(strstr(why.buf, "data/0: CRC error"));
    pth_close(&p);
    strbuf_release(&why);
    free(data);
}

/* Shapes and strides that leave a storage, by changing one byte of the pickle. */
static void test_outside(void **state)
{
    static const struct {
        const char *text; /* of f32: its size or its stride */
        int offset;
        char value;
    } row[] = {
        {"K\2K\3\x86", 3, 4},
        {"K\3K\1\x86", 1, 4},
        {"K\3K\1\x86", 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct strbuf why = STRBUF_INIT;
        struct pth p;
        size_t len = 0, n = strlen(row[i].text);
        char *data = file_read(GOLDEN "stream.pth", &len);
        char *match = data ? memmem(data, len, row[i].text, n) : NULL;

        assert_non_null(match);
        match[row[i].offset] = row[i].value;
        write_copy(data, len);
        assert_int_equal(pth_open(&p, copy, true, &why), -1);
        assert_non_null(strstr(why.buf, "tensor 'f32' lies outside of its storage"));
        pth_close(&p);
        strbuf_release(&why);
        free(data);
    }
}

/* Replaces the first `src` in `data`, a heap block of *len bytes. */
static char *splice(char *data, size_t *len, const char *src, const char *dst, size_t n)
{
    size_t cut = strlen(src);
    char *cursor = data ? memmem(data, *len, src, cut) : NULL, *out;

    assert_non_null(cursor);
    out = xmalloc(*len + n);
    memcpy(out, data, (size_t)(cursor - data));
    memcpy(out + (cursor - data), dst, n);
    memcpy(out + (cursor - data) + n, cursor + cut, *len - (size_t)(cursor - data) - cut);
    *len += n - cut;
    free(data);
    return out;
}

#define LARGE       "\x8a\x06\0\0\0\0\0\1"                     /* 2^40 */
#define HUGE        "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f" /* 2^63 - 1 */
#define BYTES(text) text, sizeof(text) - 1

/* Dimensions and strides whose products overflow 64 bits: with no elements, and with a
 * dimension of 1, whose stride is meaningless. Sanitizers detect overflows. */
static void test_large_strides(void **state)
{
    static const float want[] = {0, 0.75f};
    struct strbuf why = STRBUF_INIT;
    struct pth p;
    size_t len = 0;
    char *data = file_read(GOLDEN "stream.pth", &len);

    (void)state;
    data = splice(data, &len, "K\2K\3\x86", BYTES("K\2K\1\x86"));
    data = splice(data, &len, "K\3K\1\x86", BYTES("K\3" HUGE "\x86"));
    write_copy(data, len);
    open_good(&p, copy, true);
    check_floats(&p, "f32", DIMS(2, 1), want, 2);
    pth_close(&p);
    free(data);

    data = file_read(GOLDEN "stream.pth", &len);
    data = splice(data, &len, "K\2K\3\x86", BYTES("K\0" LARGE LARGE "\x87"));
    data = splice(data, &len, "K\3K\1\x86", BYTES("K\1" LARGE "K\1\x87"));
    write_copy(data, len);
    assert_int_equal(pth_open(&p, copy, true, &why), -1);
    assert_non_null(strstr(why.buf, "tensor 'f32' lies outside of its storage"));
    pth_close(&p);
    strbuf_release(&why);
    free(data);
}

/* A float tensor of 2 elements, 2^28 apart, in a storage of 2^29. */
static const char claims_pickle[] = "\x80\2}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n"
                                    "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
                                    "0X\3\0\0\0cpu"
                                    "J\0\0\0\x20tQK\0K\2\x85J\0\0\0\x10\x85\x89NtRs.";

static void add_entry(zip_t *z, const char *name, const char *data, size_t len)
{
    zip_source_t *source = zip_source_buffer(z, data, len, 0);
    zip_int64_t i = zip_file_add(z, name, source, 0);

    assert_true(i >= 0);
    assert_int_equal(zip_set_file_compression(z, (zip_uint64_t)i, ZIP_CM_STORE, 0), 0);
}

/* A stored entry that claims 2 GiB in the archive's directory: no memory is allocated for
 * it. */
static void test_stored_claims(void **state)
{
    static const char place[] = "x/data/0";
    const uint32_t claim = 1u << 31;
    struct strbuf why = STRBUF_INIT;
    size_t len = 0, pos;
    struct pth p;
    char *data;
    zip_t *z;

    (void)state;
    (void)unlink(copy);
    z = zip_open(copy, ZIP_CREATE, NULL);
    assert_non_null(z);
    add_entry(z, "x/data.pkl", claims_pickle, sizeof(claims_pickle) - 1);
    add_entry(z, place, "01234567", 8);
    assert_int_equal(zip_close(z), 0);
    data = file_read(copy, &len);
    for (pos = len - strlen(place); memcmp(data + pos, place, strlen(place)) != 0; pos--)
        ;
    memcpy(data + pos - 46 + 24, &claim, sizeof(claim)); /* size in the directory */
    write_copy(data, len);
    assert_int_equal(pth_open(&p, copy, true, &why), -1);
    assert_non_null(strstr(why.buf, "instead of 2147483648"));
    pth_close(&p);
    strbuf_release(&why);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),         cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_sum),           cmocka_unit_test(test_outside),
        cmocka_unit_test(test_large_strides), cmocka_unit_test(test_stored_claims),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
