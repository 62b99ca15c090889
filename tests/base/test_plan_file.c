/* base/plan_file: stored plans are found again, and a change of any bit is detected. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/plan_file.h"
#include "tests/test.h"

static char folder[] = "/tmp/trainc-test-XXXXXX";
static const char key[] = "cublaslt 130000\n64x10x128 f16";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

static json_t *plan(void)
{
    return json_pack("{s:s, s:f, s:i}", "plan", "{\"engine\": 7}", "microseconds", 12.1,
                     "n", 3);
}

static void test_kept(void **state)
{
    char *path = plan_file_path(folder, "kind", key);
    const char *why = "";
    json_t *o;

    (void)state;
    assert_null(plan_file_load(path, key, &why));
    assert_null(why); /* a missing file is no error */
    plan_file_store(folder, path, key, plan());
    o = plan_file_load(path, key, &why);
    assert_non_null(o);
    assert_null(why);
    assert_string_equal(json_string_value(json_object_get(o, "plan")), "{\"engine\": 7}");
    assert_true(json_real_value(json_object_get(o, "microseconds")) == 12.1);
    json_decref(o);

    assert_null(plan_file_load(path, "another key", &why));
    assert_string_equal(why, "it is another plan's");
    assert_int_equal(unlink(path), 0);
    free(path);
}

/* A flipped bit is detected, unless it is in the whitespace. */
static void test_damaged(void **state)
{
    char *path = plan_file_path(folder, "kind", key), *text;
    const char *why;
    size_t len = 0;
    int taken = 0;

    (void)state;
    plan_file_store(folder, path, key, plan());
    text = file_read(path, &len);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++) {
        json_t *o;

        text[i] ^= 2;
        assert_int_equal(unlink(path), 0);
        assert_int_equal(atomic_write_out(path, text, len), 0);
        o = plan_file_load(path, key, &why);
        if (o) {
            json_t *want = plan();

            taken++;
            (void)json_object_del(o, "key");
            (void)json_object_del(o, "xxh3");
            assert_true(json_equal(o, want));
            json_decref(want);
        } else {
            assert_non_null(why);
        }
        json_decref(o);
        text[i] ^= 2;
    }
    assert_true(taken < 20);
    assert_int_equal(unlink(path), 0);
    free(text);
    free(path);
}

static void test_no_folder(void **state)
{
    const char *why = "";

    (void)state;
    assert_null(plan_file_path("", "kind", key));
    assert_null(plan_file_load(NULL, key, &why));
    assert_null(why);
    plan_file_store("", NULL, key, plan());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_no_folder),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
