/* The emulated runtime: captures and illegal calls in them, lazy streams, memory. */
#include <cuda_runtime_api.h>
#include <math.h>

#include "tests/emulator/counters.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/self/fixture.h"
#include "tests/emulator/self/kernels.h"
#include "tests/test.h"

/* ---- captures ---- */

static void begin(struct fixture *f)
{
    OK(cudaStreamBeginCapture(f->dev.stream, cudaStreamCaptureModeThreadLocal));
}

static void test_replay(void **state)
{
    struct fixture f;
    struct emulator_counters was, now;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    (void)state;
    fixture_init(&f);
    begin(&f);
    test_increment(&f.dev, f.x, f.x, N);
    test_increment(&f.dev, f.x, f.y, N);
    OK(cudaStreamEndCapture(f.dev.stream, &graph));
    fixture_fetch(&f, f.x);
    assert_true(f.host[0] == 1); /* nothing has run */
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    was = emulator_count();
    OK(cudaGraphLaunch(exec, f.dev.stream));
    OK(cudaGraphLaunch(exec, f.dev.stream));
    now = emulator_count();
    assert_int_equal(now.graph_launches - was.graph_launches, 2);
    assert_int_equal(now.graph_nodes - was.graph_nodes, 4);
    assert_int_equal(now.launches - was.launches, 0);
    fixture_fetch(&f, f.y);
    assert_true(f.host[0] == 4 && f.host[N - 1] == N + 3);
    OK(cudaGraphExecDestroy(exec));
    fixture_release(&f);
}

/* Ends a broken capture. */
static void expect_broken(struct fixture *f)
{
    cudaGraph_t graph;

    assert_int_equal(cudaStreamEndCapture(f->dev.stream, &graph),
                     cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
    assert_int_equal(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    test_increment(&f->dev, f->x, f->y, N); /* the stream works again */
    OK(cudaStreamSynchronize(f->dev.stream));
}

static void test_illegal_in_capture(void **state)
{
    struct fixture f;
    cudaEvent_t event;
    float *p;

    (void)state;
    fixture_init(&f);
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, f.dev.stream));

    begin(&f);
    assert_int_equal(cudaMalloc((void **)&p, 4), cudaErrorStreamCaptureUnsupported);
    expect_broken(&f);
    begin(&f);
    assert_int_equal(cudaFree(f.y), cudaErrorStreamCaptureUnsupported);
    expect_broken(&f);
    begin(&f);
    assert_int_equal(cudaStreamSynchronize(f.dev.stream),
                     cudaErrorStreamCaptureUnsupported);
    expect_broken(&f);
    begin(&f);
    assert_int_equal(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    expect_broken(&f);
    begin(&f);
    assert_int_equal(cudaMemsetAsync(f.y, 0, 4, NULL), cudaErrorStreamCaptureImplicit);
    expect_broken(&f);
    begin(&f);
    assert_int_equal(cudaStreamWaitEvent(f.dev.stream, event, 0),
                     cudaErrorStreamCaptureIsolation);
    expect_broken(&f);
    begin(&f);
    OK(cudaEventRecord(event, f.dev.stream));
    assert_int_equal(cudaEventSynchronize(event), cudaErrorCapturedEvent);
    expect_broken(&f);
    OK(cudaEventDestroy(event));
    fixture_release(&f);
}

/* x on the main stream, y on a second one that forks from it; joined or not. */
static cudaError_t capture_fork(struct fixture *f, bool join, cudaGraph_t *graph)
{
    cudaEvent_t fork, joined;
    struct device side = f->dev;
    cudaError_t e;

    OK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    begin(f);
    test_increment(&f->dev, f->x, f->x, N);
    OK(cudaEventRecord(fork, f->dev.stream));
    OK(cudaStreamWaitEvent(side.stream, fork, 0));
    test_increment(&side, f->x, f->y, N);
    OK(cudaEventRecord(joined, side.stream));
    if (join)
        OK(cudaStreamWaitEvent(f->dev.stream, joined, 0));
    test_increment(&f->dev, join ? f->y : f->x, f->x, N);
    e = cudaStreamEndCapture(f->dev.stream, graph);
    OK(cudaStreamDestroy(side.stream));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(joined));
    return e;
}

static void test_forked_capture(void **state)
{
    struct fixture f;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    (void)state;
    fixture_init(&f);
    assert_int_equal(capture_fork(&f, false, &graph), cudaErrorStreamCaptureUnjoined);
    (void)cudaGetLastError();
    assert_int_equal(capture_fork(&f, true, &graph), cudaSuccess);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    emulator_order("reverse");
    OK(cudaGraphLaunch(exec, f.dev.stream));
    emulator_order("forward");
    fixture_fetch(&f, f.x);
    assert_true(f.host[0] == 4);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    fixture_release(&f);
}

/* ---- lazy streams ---- */

/* Copies a pinned buffer, overwrites it, and returns the value that arrived. */
static float copy_reused(bool wait)
{
    struct fixture f;
    float *pinned, got;

    fixture_init(&f);
    OK(cudaHostAlloc((void **)&pinned, sizeof(float), 0));
    *pinned = 7;
    OK(cudaMemcpyAsync(f.x, pinned, sizeof(float), cudaMemcpyHostToDevice, f.dev.stream));
    if (wait)
        OK(cudaStreamSynchronize(f.dev.stream));
    *pinned = 8;
    fixture_fetch(&f, f.x);
    got = f.host[0];
    OK(cudaFreeHost(pinned));
    fixture_release(&f);
    return got;
}

/* A second stream reads data that the first one writes. */
static float cross_streams(bool wait)
{
    struct fixture f;
    struct device side = {0};
    cudaEvent_t event;

    fixture_init(&f);
    OK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    test_increment(&f.dev, f.x, f.x, N);
    OK(cudaEventRecord(event, f.dev.stream));
    if (wait)
        OK(cudaStreamWaitEvent(side.stream, event, 0));
    test_increment(&side, f.x, f.y, N);
    OK(cudaStreamSynchronize(side.stream));
    fixture_fetch(&f, f.y);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(side.stream));
    fixture_release(&f);
    return f.host[0];
}

static void test_lazy(void **state)
{
    struct fixture f;
    cudaEvent_t event;

    (void)state;
    emulator_lazy(1);
    assert_true(copy_reused(true) == 7);
    assert_true(copy_reused(false) == 8); /* the bug shows */
    assert_true(cross_streams(true) == 3);
    assert_true(cross_streams(false) == 2); /* the bug shows */
    fixture_init(&f);
    OK(cudaEventCreate(&event));
    test_increment(&f.dev, f.x, f.y, N);
    OK(cudaEventRecord(event, f.dev.stream));
    assert_int_equal(cudaEventQuery(event), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(event), cudaSuccess);
    OK(cudaEventDestroy(event));
    fixture_release(&f);
    emulator_lazy(0);
    assert_true(cross_streams(false) == 3);
}

/* ---- memory and host nodes ---- */

static void test_memory(void **state)
{
    struct emulator_counters was = emulator_count(), now;
    size_t left, total;
    float *p, *more, host[4] = {1, 1, 1, 1};

    (void)state;
    OK(cudaMemGetInfo(&left, &total));
    assert_int_equal(total, 150109880320);
    assert_int_equal(cudaMalloc((void **)&p, left + 1), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaMalloc((void **)&p, sizeof(host)));
    OK(cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost));
    assert_true(isnan(host[0]) && isnan(host[3]));
    assert_int_equal(cudaMemcpy(p, host, 17, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(host, p, 4, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    OK(cudaMalloc((void **)&more, 4));
    OK(cudaFree(p));
    assert_int_equal(cudaFree(p), cudaErrorInvalidValue);
    OK(cudaFree(more));
    now = emulator_count();
    assert_int_equal(now.bytes_held, was.bytes_held);
    assert_int_equal(now.allocations - was.allocations, 3);
    assert_int_equal(now.bytes_out - was.bytes_out, 16);
    assert_int_equal(now.synchronisations - was.synchronisations, 1);
    (void)cudaGetLastError();
}

struct host_add {
    float *x, add;
};

static void host_add(void *arg)
{
    const struct host_add *a = arg;

    emulator_expect_memory(a->x, 4, "x");
    *a->x += a->add;
}

static void test_host_node(void **state)
{
    struct fixture f;
    struct host_add a;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    (void)state;
    fixture_init(&f);
    a = (struct host_add){f.x, 10};
    begin(&f);
    OK(emulator_enqueue(f.dev.stream, "add", host_add, &a, sizeof(a)));
    a.add = 100; /* the argument was copied */
    OK(cudaStreamEndCapture(f.dev.stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(emulator_enqueue(f.dev.stream, "add", host_add, &a, sizeof(a)));
    OK(cudaGraphLaunch(exec, f.dev.stream));
    OK(cudaGraphLaunch(exec, f.dev.stream));
    fixture_fetch(&f, f.x);
    assert_true(f.host[0] == 121);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),         cmocka_unit_test(test_illegal_in_capture),
        cmocka_unit_test(test_forked_capture), cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_host_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
