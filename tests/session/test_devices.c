/* The table of devices: values of DEVICE and the options of the device they open. */
#include <string.h>

#include "config/config.h"
#include "config/problems.h"
#include "cpu/backend.h"
#include "ops/reference.h"
#include "session/devices.h"
#include "tests/child.h"
#include "tests/config_init.h"
#include "tests/test.h"

/* Checks the first message of device_check_run about DEVICE; NULL if there must be
 * none. */
static void check_says(const char *device, const char *want)
{
    struct problems p = {0};
    struct config cfg;

    config_init(&cfg);
    config_set(&cfg, "DEVICE", device);
    device_check_run(&cfg, &p);
    if (want) {
        assert_true(p.nerror >= 1);
        if (!strstr(p.item[0].text, want))
            fail_msg("'%s', not '%s'", p.item[0].text, want);
    } else {
        assert_int_equal(p.nerror, 0);
    }
    problems_release(&p);
    config_release(&cfg);
}

static void test_names(void **state)
{
    (void)state;
    check_says("auto", NULL);
    check_says("cpu", NULL);
    check_says("ref", NULL);
    check_says("tpu",
               "DEVICE must be one of auto, cuda, cuda:N, cpu, ref, not 'tpu' (did");
    check_says("cpu:1", ", not 'cpu:1'");
    check_says("cuda:", ", not 'cuda:'");
    check_says("cuda:x", ", not 'cuda:x'");
    check_says("cuda:N", ", not 'cuda:N'");
    if (device_at(0)->described) { /* built with CUDA */
        check_says("cuda:0,1", NULL);
        check_says("cuda:3,0,12", NULL);
    }
    check_says("cuda:0,0", ", not 'cuda:0,0'");
    check_says("cuda:0,", ", not 'cuda:0,'");
    check_says("cuda:,1", ", not 'cuda:,1'");
    check_says("cpu:0,1", ", not 'cpu:0,1'");
    check_says(".json", ", not '.json'");
    check_says("gpu", "DEVICE gpu is no device: take cuda");
}

/* Backends are listed under their own names, and every name is a valid DEVICE. */
static void test_table(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct device_options o;
    const struct backend *b;
    int n = 0;

    (void)state;
    for (; (b = device_at(n)); n++) {
        assert_true(names_known(&device_names, b->name, &why));
        assert_ptr_equal(device_find(b->name, &o), b);
        assert_int_equal(o.index, 0);
        assert_null(o.description);
        check_says(b->name, NULL);
    }
    assert_true(n >= 2);
    assert_ptr_equal(device_at(n - 2), &backend_cpu);
    assert_ptr_equal(device_at(n - 1), &backend_ref);
    assert_true(device_available(device_find("auto", &o), 0, NULL));
    strbuf_release(&why);
}

/* GPUs, in builds that have them. */
static void test_gpus(void **state)
{
    const struct backend *b = device_at(0);
    struct device_options o;

    (void)state;
    if (!b->described) {
        check_says("cuda", "DEVICE cuda is not in this build of trainc");
        check_says("cuda:1", "DEVICE cuda:1 is not in this build of trainc");
        return;
    }
    assert_ptr_equal(device_find("cuda:12", &o), b);
    assert_int_equal(o.index, 12);
    assert_null(o.description);
    assert_ptr_equal(device_find("a.json", &o), b);
    assert_string_equal(o.description, "a.json");
    assert_non_null(b->described(0));
    for (int i = 0; b->described(i); i++) {
        assert_ptr_equal(device_find(b->described(i), &o), b);
        assert_string_equal(o.description, b->described(i));
        check_says(b->described(i), "describes a GPU that is not on this machine");
    }
}

static void no_device(void *arg)
{
    struct device_options o;

    (void)device_find(arg, &o);
}

static void test_refused(void **state)
{
    char tpu[] = "tpu:1";

    (void)state;
    check_dies(no_device, tpu, "'tpu:1'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
