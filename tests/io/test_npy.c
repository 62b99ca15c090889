/* .npy and .npz: the bytes of the header, and the contents as a zip reader sees them. */
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/file.h"
#include "io/written.h"
#include "tests/test.h"

static const float numbers[] = {1, 2, 3, 4, 5, 6};
static const struct npy_array matrix = {
    .name = "layer1.0", .ndim = 2, .dim = {3, 2}, .data = numbers};
static const struct npy_array texts = {
    .name = "files", .text = 5, .ndim = 1, .dim = {2}, .data = "a.pngb.png"};

static char path[] = "/tmp/trainc-npy-XXXXXX";

/* Checks the format's own rules and the dictionary. */
static void check_array(const char *s, size_t len, const char *dict, const void *data,
                        size_t size)
{
    size_t header = (size_t)(unsigned char)s[8] + 256 * (size_t)(unsigned char)s[9];

    assert_memory_equal(s, "\x93NUMPY\1\0", 8);
    assert_int_equal((10 + header) % 64, 0);
    assert_int_equal(len, 10 + header + size);
    assert_memory_equal(s + 10, dict, strlen(dict));
    assert_int_equal(s[10 + header - 1], '\n');
    assert_memory_equal(s + 10 + header, data, size);
}

static const char matrix_dict[] =
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } ";
static const char texts_dict[] =
    "{'descr': '|S5', 'fortran_order': False, 'shape': (2,), } ";

static void test_npy(void **state)
{
    struct strbuf why = STRBUF_INIT;
    size_t len;
    char *data;

    (void)state;
    assert_int_equal(npy_write(path, &matrix, &why), 0);
    data = file_read(path, &len);
    assert_non_null(data);
    check_array(data, len, matrix_dict, numbers, sizeof(numbers));
    free(data);
    assert_true(written_is(path, WRITTEN_ARRAYS));
}

static void check_member(zip_t *z, const char *name, const char *dict, const void *data,
                         size_t size)
{
    zip_stat_t st;
    zip_file_t *f;
    char buf[4096];

    assert_int_equal(zip_stat(z, name, 0, &st), 0);
    assert_int_equal(st.comp_method, ZIP_CM_STORE);
    assert_true(st.size <= sizeof(buf));
    f = zip_fopen(z, name, 0);
    assert_non_null(f);
    assert_int_equal(zip_fread(f, buf, st.size), st.size);
    check_array(buf, st.size, dict, data, size);
    zip_fclose(f);
}

static void test_npz(void **state)
{
    const struct npy_array all[] = {matrix, texts};
    struct strbuf why = STRBUF_INIT;
    zip_t *z;

    (void)state;
    assert_int_equal(npz_write(path, all, 2, &why), 0); /* replaces the existing file */
    assert_true(written_is(path, WRITTEN_ARRAYS));
    z = zip_open(path, ZIP_RDONLY, NULL);
    assert_non_null(z);
    assert_int_equal(zip_get_num_entries(z, 0), 2);
    check_member(z, "layer1.0.npy", matrix_dict, numbers, sizeof(numbers));
    check_member(z, "files.npy", texts_dict, texts.data, 10);
    zip_discard(z);
}

static void test_no_place(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(npz_write("/tmp/no/such/folder.npz", &matrix, 1, &why), -1);
    assert_non_null(strstr(why.buf, "/tmp/no/such/folder.npz"));
    strbuf_reset(&why);
    assert_int_equal(npy_write("/tmp/no/such/folder.npy", &matrix, &why), -1);
    assert_non_null(strstr(why.buf, "/tmp/no/such/folder.npy"));
    strbuf_release(&why);
}

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_npz),
        cmocka_unit_test(test_no_place),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
