#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/libraries/run_graph.h"
#include "tests/test.h"

struct api run_api;
static cudnnHandle_t handle;
static _Alignas(64) unsigned char workspace[8192];

int run_setup(void **state)
{
    const char *error = api_open(&run_api, EMULATED "/libcudnn.so.9");

    (void)state;
    if (error)
        fail_msg("%s", error);
    assert_int_equal(run_api.open(&handle), 0);
    return 0;
}

int run_teardown(void **state)
{
    (void)state;
    run_api.close(handle);
    api_close(&run_api);
    return 0;
}

cudnnHandle_t run_handle(void)
{
    return handle;
}

void *run_workspace(void)
{
    return workspace;
}

void run_graph(int nop, void *const *ops, int64_t engine, int n, const int64_t *uids,
               void *const *pointers)
{
    struct api *a = &run_api;
    void *graph = api_graph(a, nop, ops), *plan = api_engine_plan(a, graph, engine);
    void *pack = api_pack(a, n, uids, pointers, workspace);
    char why[300];

    if (!a->status)
        a->status = a->execute(handle, plan, pack);
    if (a->status && !a->error[0])
        a->last_error(a->error, sizeof(a->error));
    (void)snprintf(why, sizeof(why), "status %d: %s", (int)a->status, a->error);
    n = (int)a->status;
    api_reset(a);
    if (n)
        fail_msg("%s", why);
}

float *run_floats(int64_t n)
{
    float *p = aligned_alloc(64, ((size_t)n * sizeof(*p) + 63) / 64 * 64);

    assert_non_null(p);
    memset(p, 0, (size_t)n * sizeof(*p));
    return p;
}

void run_fill(float *v, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        v[i] = (float)((int)(seed >> 20) % 7 - 3);
    }
}

void run_compare(const char *what, const float *got, const float *want, int64_t n,
                 float tolerance)
{
    assert_true(n > 0);
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= tolerance))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, (double)got[i],
                     (double)want[i]);
}
