/*
 * Libraries opened at run time and their messages, and description files of GPUs that are
 * not present.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cuda/description.h"
#include "cuda/library.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/test.h"

static void test_variable_alone(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(setenv("TRAINC_CUBLASLT", "/nowhere/libcublasLt.so.13", 1), 0);
    assert_null(cuda_library_open(CUDA_LIBRARY_CUBLASLT, &why));
    assert_non_null(strstr(why.buf, "TRAINC_CUBLASLT names"));
    assert_non_null(strstr(why.buf, "/nowhere/libcublasLt.so.13"));
    assert_int_equal(unsetenv("TRAINC_CUBLASLT"), 0);
    strbuf_release(&why);
}

static void open_nccl(void *arg)
{
    struct strbuf why = STRBUF_INIT;

    (void)arg;
    _exit(cuda_library_open(CUDA_LIBRARY_NCCL, &why) ? 0 : 7);
}

static void test_other_library(void **state)
{
    (void)state;
    assert_int_equal(setenv("TRAINC_NCCL", "libm.so.6", 1), 0);
    check_dies(open_nccl, NULL, "libm.so.6' is not the NCCL that trainc needs");
    assert_int_equal(unsetenv("TRAINC_NCCL"), 0);
}

static void test_versions(void **state)
{
    static const int least[CUDA_LIBRARIES] = {90000, 120000, 20000, 120000};

    (void)state;
    for (int i = 0; i < CUDA_LIBRARIES; i++) {
        struct strbuf why = STRBUF_INIT;
        const struct cuda_library *l = cuda_library_open((enum cuda_library_id)i, &why);

        if (l) {
            assert_true(l->version >= least[i]);
            assert_int_equal(access(l->path, R_OK), 0);
            assert_non_null(strstr(l->text, l->path));
            assert_ptr_equal(cuda_library_open((enum cuda_library_id)i, &why), l);
        } else { /* a machine without it: one line with a hint */
            assert_non_null(strstr(why.buf, cuda_library_name((enum cuda_library_id)i)));
            assert_non_null(strstr(why.buf, "to name the file"));
            assert_null(strchr(why.buf, '\n'));
        }
        strbuf_release(&why);
    }
}

static void read_description(void *path)
{
    struct description d;

    description_read(&d, path);
    description_release(&d);
}

/* Description files with impossible numbers, and without an object. */
static void test_descriptions(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"[1]", "gpu.json: a device description is one JSON object"},
        {"{\"a\":", "gpu.json:1:5: "},
        {"{\"devices\": 5}", "found no GPU"},
        {"{\"devices\": [{\"gpus\": [{\"description\": []}]}]}", "found no GPU"},
        {"{\"deviceVer\": \"900\"}", "needs \"deviceVer\", a positive number"},
        {"{\"deviceVer\": -1}", "needs \"deviceVer\", a positive number"},
        {"{\"deviceVer\": 4294968196}", "4294968196 is too large for \"deviceVer\""},
    };
    char *dir = make_temp_dir(), *path = path_join(dir, "gpu.json");

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        make_file(dir, "gpu.json", rows[i].text, strlen(rows[i].text));
        check_dies(read_description, path, rows[i].says);
    }
    free(path);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variable_alone),
        cmocka_unit_test(test_other_library),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_descriptions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
