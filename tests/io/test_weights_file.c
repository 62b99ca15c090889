/* io/weights_file: both kinds of files through one interface, and files without
 * weights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "io/weights_file.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/io/"

static char dir[] = "/tmp/trainc-test-XXXXXX";
static char *copy; /* the file that a test writes */

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

static void write_copy(const char *data, size_t len)
{
    FILE *f;

    (void)unlink(copy); /* truncating a file would wait for the disk */
    f = fopen(copy, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void test_weights_file(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file f;
    float dst[6];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *path = i ? GOLDEN "stream.pth" : GOLDEN "python.safetensors";

        assert_int_equal(weights_file_open(&f, path, true, &why), 0);
        assert_int_equal(f.torch, i);
        assert_false(f.by_trainc);
        assert_string_equal(f.path, path);
        assert_int_equal(f.n, i ? 12 : 6);
        assert_null(weights_file_find(&f, "nothing"));
        assert_int_equal(weights_file_read(&f, weights_file_find(&f, "f32"), dst, &why),
                         0);
        assert_true(dst[5] == 1.25f);
        assert_int_equal(weights_file_meta(&f, "note") != NULL, !i);
        weights_file_close(&f);
    }
    assert_int_equal(weights_file_open(&f, GOLDEN "nowhere.pth", true, &why), -1);
    assert_non_null(strstr(why.buf, "cannot open"));
    weights_file_close(&f);
    strbuf_release(&why);
}

/* A safetensors file whose header length equals the start of a pickle. */
static void test_header_like_pickle(void **state)
{
    static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
                               "\"data_offsets\":[0,4]}}";
    static const int sizes[] = {0x280, 0x380, 0x480, 0x580};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = (size_t)sizes[i];
        uint64_t len = n;
        struct strbuf why = STRBUF_INIT;
        struct weights_file f;
        char *data = xcalloc(1, n + 12);

        memset(data, ' ', n + 8);
        memcpy(data, &len, 8);
        memcpy(data + 8, head, strlen(head));
        write_copy(data, n + 12);
        if (weights_file_open(&f, copy, true, &why))
            fail_msg("%s", why.buf);
        assert_int_equal(f.n, 1);
        weights_file_close(&f);
        free(data);
    }
}

/* Identifies files without weights by their first bytes. */
static void test_kinds(void **state)
{
#define BYTES(text) text, sizeof(text) - 1
    static const struct {
        const char *data;
        size_t len;
        const char *says;
    } row[] = {
        {BYTES(""), "no weights: an empty file"},
        {BYTES("<!DOCTYPE html>\n<html></html>"), "no weights: a web page (HTML)"},
        {BYTES("\r\n <HTML lang=en>"), "no weights: a web page (HTML)"},
        {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"),
         "no weights: a pointer of git-lfs; 'git lfs pull'"},
        {BYTES("{\"error\": \"Repository not found\"}"),
         "no weights: JSON that begins with '{\"error\": \"Repository not found\"}'"},
        {BYTES("{\"metadata\": {}, \"weight_map\": {\"a\": \"b\"}}"),
         "no weights: the index of weights in several files"},
        {BYTES("Entry not found"), "a text that begins with 'Entry not found'"},
        {BYTES("# A model card\nwith two lines"), "begins with '# A model card'"},
        {BYTES("h\xc3\xa4\xc3\xa4"), "a text that begins with 'h\xc3\xa4\xc3\xa4'"},
        {BYTES("\x1f\x8b\x08\0\0\0\0\0\0\3abcdef"), "no weights: compressed by gzip"},
        {BYTES("\x89HDF\r\n\x1a\n\0\0\0"), "no weights: HDF5"},
        {BYTES("\x89PNG\r\n\x1a\n\0\0\0"), "no weights: a PNG image"},
        {BYTES("\x08\x07\x12\x07pytorch\0\0\0"), "no weights: an ONNX model"},
        {BYTES("\x93NUMPY\1\0v\0"), "no weights: an array of NumPy"},
        {BYTES("\0\0\0\0\0\0\0\0\0\0\0\0"), "no weights: zeros where"},
        {BYTES("\xaa\x01\x02\x03\x04\x05\x06\x07\x08"),
         "neither safetensors nor of torch.save"},
        {BYTES("PK\3\4\x14\0\0\0\0\0\0\0"),
         "a damaged zip archive, or one that is cut off"},
        {BYTES("\x80\4\x95\x0a\0\0\0\0\0\0\0}\x94\x8c\1a\x94K\1s."),
         "a pickle of Python, but not of torch.save"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct strbuf why = STRBUF_INIT;
        struct weights_file f;

        write_copy(row[i].data, row[i].len);
        assert_int_equal(weights_file_open(&f, copy, true, &why), -1);
        if (!strstr(why.buf, row[i].says) || !strstr(why.buf, copy))
            fail_msg("'%s' instead of '%s'", why.buf, row[i].says);
        weights_file_close(&f);
        strbuf_release(&why);
    }
}

/* Tar archives: PyTorch's first ones, and others. */
static void test_tar(void **state)
{
    static const struct {
        const char *name, *says;
    } row[] = {{"sys_info", "a tar archive of PyTorch before 0.2"},
               {"pickle", "a tar archive of PyTorch before 0.2"},
               {"x.pth", "no weights: a tar archive: unpack it"}};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        char block[1024] = "";
        struct strbuf why = STRBUF_INIT;
        struct weights_file f;

        memcpy(block, row[i].name, strlen(row[i].name));
        memcpy(block + 257, "ustar\00000", 8);
        write_copy(block, sizeof(block));
        assert_int_equal(weights_file_open(&f, copy, true, &why), -1);
        if (!strstr(why.buf, row[i].says))
            fail_msg("'%s' instead of '%s'", why.buf, row[i].says);
        weights_file_close(&f);
        strbuf_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_file),
        cmocka_unit_test(test_header_like_pickle),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_tar),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
