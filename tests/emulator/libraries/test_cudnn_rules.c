/*
 * Errors of the emulated cuDNN when a plan is executed, the engines that its heuristics
 * offer, and plans as text. The errors are stricter than the library's, which would
 * compute garbage.
 */
#include <stdio.h>
#include <string.h>

#include "tests/emulator/libraries/run_graph.h"
#include "tests/test.h"

#define F32 CUDNN_DATA_FLOAT

enum { ENGINE = 71, ENGINE_BROKEN = 90, WORKSPACE = 131 };

static struct api *const a = &run_api;
static _Alignas(64) float memory[4][64];
static const struct api_conv same = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};

/* conv(1, 2) -> virtual 3 -> relu -> 4; images of 4x4 with one channel */
static void *fused_graph(void)
{
    void *y = api_virtual(a, 3, F32, 1, 1, 4, 4), *ops[2];

    ops[0] = api_forward(a, &same, api_nhwc(a, 1, F32, 1, 1, 4, 4),
                         api_nhwc(a, 2, F32, 1, 1, 3, 3), y);
    ops[1] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, y, NULL,
                           api_nhwc(a, 4, F32, 1, 1, 4, 4));
    return api_graph(a, 2, ops);
}

static cudnnStatus_t execute(int n, const int64_t *uids, void *const *p, void *workspace)
{
    void *plan = api_engine_plan(a, fused_graph(), ENGINE);
    void *pack = api_pack(a, n, uids, p, workspace);
    cudnnStatus_t s = a->status;

    if (!s)
        s = a->execute(run_handle(), plan, pack);
    api_reset(a);
    return s;
}

static void test_pack(void **state)
{
    static const int64_t ids[] = {1, 2, 4, 3}, other[] = {1, 2, 4, 5};
    void *good[4] = {memory[0], memory[1], memory[2], memory[3]}, *p[4];
    void *ws = run_workspace();

    (void)state;
    assert_int_equal(execute(3, ids, good, ws), CUDNN_STATUS_SUCCESS);
    assert_int_equal(execute(2, ids, good, ws), CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(execute(4, ids, good, ws), CUDNN_STATUS_BAD_PARAM); /* virtual */
    assert_int_equal(execute(4, other, good, ws), CUDNN_STATUS_BAD_PARAM);
    assert_int_equal(execute(3, ids, good, NULL), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    memcpy(p, good, sizeof(p));
    p[0] = NULL;
    assert_int_equal(execute(3, ids, p, ws), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    p[0] = memory[0] + 1;
    assert_int_equal(execute(3, ids, p, ws), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    p[0] = memory[2] + 8;
    /* overlaps the result */
    assert_int_equal(execute(3, ids, p, ws), CUDNN_STATUS_BAD_PARAM);
    p[0] = (char *)ws + 64;
    assert_int_equal(execute(3, ids, p, ws), CUDNN_STATUS_BAD_PARAM);
    p[0] = memory[1]; /* two operands may share memory */
    assert_int_equal(execute(3, ids, p, ws), CUDNN_STATUS_SUCCESS);
}

/* The workspace holds NaN afterwards, over the size that the plan reports. */
static void test_workspace(void **state)
{
    static const int64_t ids[] = {1, 2, 4};
    unsigned char *ws = run_workspace();

    (void)state;
    memset(ws, 0, WORKSPACE + 1);
    assert_int_equal(execute(3, ids, (void *[]){memory[0], memory[1], memory[2]}, ws), 0);
    for (int i = 0; i < WORKSPACE; i++)
        assert_int_equal(ws[i], 0xff);
    assert_int_equal(ws[WORKSPACE], 0);
}

/* Plans and packs are independent: the descriptors they were made from may be
 * destroyed. */
static void test_lifetimes(void **state)
{
    void *plan = api_engine_plan(a, fused_graph(), ENGINE), *pack;
    int n = a->nmade;

    (void)state;
    assert_int_equal(a->status, 0);
    for (int i = 0; i < n; i++)
        if (a->made[i] != plan)
            assert_int_equal(a->destroy(a->made[i]), 0);
    a->made[0] = plan;
    a->nmade = 1;
    memory[0][5] = 2;
    memset(memory[1], 0, sizeof(memory[1]));
    memory[1][4] = 3; /* the middle tap */
    pack = api_pack(a, 3, (int64_t[]){1, 2, 4},
                    (void *[]){memory[0], memory[1], memory[2]}, run_workspace());
    assert_int_equal(a->execute(run_handle(), plan, pack), 0);
    assert_true(memory[2][5] == 6);
    assert_int_equal(a->execute(NULL, plan, pack), CUDNN_STATUS_NOT_INITIALIZED);
    assert_int_equal(a->execute(run_handle(), pack, plan), CUDNN_STATUS_BAD_PARAM);
    api_reset(a);
}

/* Using the first configuration without a check runs into a trap. */
static void test_heuristics(void **state)
{
    void *config[16], *graph = fused_graph();
    int n = api_configs(a, graph, CUDNN_HEUR_MODE_A, 16, config), built = 0, broken = 0;
    int fallback;
    int64_t max = 0;

    (void)state;
    assert_true(n >= 3);
    for (int i = 0; i < n; i++) {
        cudnnStatus_t s;
        void *plan = api_plan(a, config[i], &s);
        int64_t size =
            s ? 0 : api_get_int(a, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);

        broken += s == CUDNN_STATUS_NOT_SUPPORTED;
        built += !s;
        max = size > max ? size : max;
    }
    assert_true(broken > 0 && built > 0 && max > INT64_C(1) << 40);
    fallback = api_configs(a, graph, CUDNN_HEUR_MODE_FALLBACK, 16, config);
    assert_true(fallback > 0);
    assert_int_equal(a->status, 0);
    (void)api_engine_plan(a, graph, ENGINE_BROKEN);
    assert_int_equal(a->status, CUDNN_STATUS_NOT_SUPPORTED);
    api_reset(a);
}

static char text[65536];
static int64_t length;

static void write_plan(void)
{
    void *plan = api_engine_plan(a, fused_graph(), ENGINE);

    assert_int_equal(a->status, 0);
    assert_int_equal(a->get(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                            CUDNN_TYPE_CHAR, (int64_t)sizeof(text), &length, text),
                     0);
    api_reset(a);
    text[length] = 0;
}

static void *read_plan(const char *src, int64_t n)
{
    void *plan = api_new(a, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

    api_set(a, plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, n,
            src);
    return api_done(a, plan);
}

static void test_text(void **state)
{
    void *plan, *pack, *ws = run_workspace();
    char *cursor;

    (void)state;
    write_plan();
    plan = read_plan(text, length);
    assert_int_equal(a->status, 0);
    assert_true(api_get_int(a, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) ==
                WORKSPACE);
    pack = api_pack(a, 3, (int64_t[]){1, 2, 4},
                    (void *[]){memory[0], memory[1], memory[2]}, ws);
    memset(memory[2], 0, sizeof(memory[2]));
    assert_int_equal(a->execute(run_handle(), plan, pack), 0);
    assert_true(memory[2][5] == 6);
    api_reset(a);

    (void)read_plan(text, length / 2);
    assert_int_equal(a->status, CUDNN_STATUS_BAD_PARAM);
    api_reset(a);
    cursor = strstr(text, "operationGraph") + 60;
    *cursor = (char)(*cursor == '0' ? '1' : '0');
    (void)read_plan(text, length);
    assert_int_equal(a->status, CUDNN_STATUS_BAD_PARAM);
    api_reset(a);
    cursor = strstr(text, "91900");
    assert_non_null(cursor);
    cursor[0] = '8';
    (void)read_plan(text, length);
    assert_int_equal(a->status, CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH);
    api_reset(a);
}

/* A plan for another chip can be created but not executed. */
static void test_other_device(void **state)
{
    static char json[4096];
    int64_t n = 0;
    void *d = api_done(a, api_new(a, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)), *plan, *pack;
    char *cursor;

    (void)state;
    assert_int_equal(a->get(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                            (int64_t)sizeof(json), &n, json),
                     0);
    api_reset(a);
    json[n] = 0;
    cursor = strstr(json, "\"deviceVer\":900");
    assert_non_null(cursor);
    cursor[12] = '8';
    api_describe(a, json);
    plan = api_engine_plan(a, fused_graph(), ENGINE);
    pack = api_pack(a, 3, (int64_t[]){1, 2, 4},
                    (void *[]){memory[0], memory[1], memory[2]}, run_workspace());
    assert_int_equal(a->status, 0);
    assert_int_equal(a->execute(run_handle(), plan, pack),
                     CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH);
    api_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack),       cmocka_unit_test(test_workspace),
        cmocka_unit_test(test_lifetimes),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_heuristics), cmocka_unit_test(test_other_device),
    };

    return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
