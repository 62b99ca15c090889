/* The emulator itself: each bug that it is there for is planted here and must be seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "cuda/device.h"
#include "tests/child.h"
#include "tests/emulator/counters.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/test_emulator.h"

#define OK(call) assert_int_equal((call), cudaSuccess)

enum { BLOCKS = 5, N = BLOCKS * 64 };

/* A stream and two device buffers, x of which holds 1, 2, 3 ... */
struct fixture {
    struct device dev;
    float *x, *y;
    float host[N];
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    OK(cudaStreamCreateWithFlags(&f->dev.stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&f->x, sizeof(f->host)));
    OK(cudaMalloc((void **)&f->y, sizeof(f->host)));
    for (int i = 0; i < N; i++)
        f->host[i] = (float)(i + 1);
    OK(cudaMemcpy(f->x, f->host, sizeof(f->host), cudaMemcpyHostToDevice));
}

static void fixture_release(struct fixture *f)
{
    OK(cudaStreamDestroy(f->dev.stream));
    OK(cudaFree(f->x));
    OK(cudaFree(f->y));
}

static void fetch(struct fixture *f, const void *from)
{
    OK(cudaMemcpyAsync(f->host, from, sizeof(f->host), cudaMemcpyDeviceToHost,
                       f->dev.stream));
    OK(cudaStreamSynchronize(f->dev.stream));
}

/* ---- what must stop the program ---- */

struct death {
    void (*fn)(int);
    int arg;
};

static void meet(void *arg)
{
    const struct death *d = arg;

    d->fn(d->arg);
}

static void expect_death(void (*fn)(int), int arg, const char *text)
{
    int code;
    char *said = child_run(meet, &(struct death){fn, arg}, &code);

    if (!code || !strstr(said, text))
        fail_msg("expected '%s', got (status %d): %s", text, code, said);
    free(said);
}

static void run_shared(int bug)
{
    struct fixture f;

    fixture_init(&f);
    test_sum_shared(&f.dev, f.x, f.y, BLOCKS, (enum bug)bug);
}

static void run_warp(int bug)
{
    struct fixture f;

    fixture_init(&f);
    test_sum_warp(&f.dev, f.x, f.y, BLOCKS, (enum bug)bug);
}

static void run_launch(int which)
{
    struct fixture f;

    fixture_init(&f);
    if (which == 0)
        test_launch(&f.dev, 1, 1025, 0, 0);
    else if (which == 1)
        test_launch(&f.dev, 65536, 1, 0, 0);
    else if (which == 2)
        test_launch(&f.dev, 1, 32, 49153, 0);
    else
        test_launch(&f.dev, 1, 32, 60000, 59000);
}

static void run_pointer(int which)
{
    struct fixture f;
    float *other;

    fixture_init(&f);
    OK(cudaMalloc((void **)&other, 64));
    if (which == 0) {
        test_increment(&f.dev, f.host, f.y, N);
    } else if (which == 1) {
        OK(cudaFree(other));
        test_increment(&f.dev, f.x, other, 16);
    } else if (which == 2) {
        test_increment(&f.dev, f.x, other, 17); /* one too many */
        OK(cudaFree(other));
    } else if (which == 3) {
        test_increment(&f.dev, f.x, other, 4096);
    } else {
        OK(cudaFree(other));
        ((volatile float *)other)[0] = 1;
    }
}

static void test_deaths(void **state)
{
    (void)state;
    expect_death(run_shared, BUG_HALF_BARRIER, "barriers in lines");
    expect_death(run_shared, BUG_OTHER_BARRIER, "barriers in lines");
    expect_death(run_shared, BUG_EARLY_RETURN, "has returned");
    expect_death(run_shared, BUG_EARLY_RETURN, "sum_shared<BUG_EARLY_RETURN>");
    expect_death(run_warp, BUG_OUTSIDE_MASK, "not in its own mask");
    expect_death(run_warp, BUG_MISSING_LANE, "for its warp");
    expect_death(run_launch, 0, "a block of (1025,1,1) threads");
    expect_death(run_launch, 1, "a grid of (1,65536,1)");
    expect_death(run_launch, 2, "49153 bytes of dynamic shared memory");
    expect_death(run_launch, 3, "it may have 59000");
    expect_death(run_pointer, 0, "argument 1");
    expect_death(run_pointer, 1, "freed device memory");
    expect_death(run_pointer, 2, "behind 64 bytes of device memory");
    expect_death(run_pointer, 3, "increment touched the space between");
    expect_death(run_pointer, 4, "host code touched freed device memory");
    expect_death(run_shared, BUG_BEHIND, "");
}

/* ---- what must show in the result ---- */

static double expected(int block, int size)
{
    double first = block * size + 1;

    return size * (first + first + size - 1) / 2;
}

static int sums_wrong(struct fixture *f, int size)
{
    int wrong = 0;

    fetch(f, f->y);
    for (int b = 0; b < BLOCKS; b++)
        wrong += !(f->host[b] == expected(b, size));
    return wrong;
}

static int shared_wrong(const char *order, enum bug bug)
{
    struct fixture f;
    int wrong;

    emulator_order(order);
    fixture_init(&f);
    test_sum_shared(&f.dev, f.x, f.y, BLOCKS, bug);
    wrong = sums_wrong(&f, 64);
    fixture_release(&f);
    emulator_order("forward");
    return wrong;
}

static int twice_wrong(const char *order, enum bug bug)
{
    struct fixture f;
    int wrong;

    emulator_order(order);
    fixture_init(&f);
    test_sum_twice(&f.dev, f.x, f.y, BLOCKS, bug);
    wrong = sums_wrong(&f, 64);
    fixture_release(&f);
    emulator_order("forward");
    return wrong;
}

static void test_results(void **state)
{
    static const char *const order[] = {"forward", "reverse", "shuffle:1", "shuffle:2",
                                        "ahead"};

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct fixture f;

        assert_int_equal(shared_wrong(order[i], BUG_NONE), 0);
        assert_int_equal(twice_wrong(order[i], BUG_NONE), 0);
        emulator_order(order[i]);
        fixture_init(&f);
        test_sum_warp(&f.dev, f.x, f.y, BLOCKS, BUG_NONE);
        assert_int_equal(sums_wrong(&f, 40), 0);
        fixture_release(&f);
        emulator_order("forward");
    }
    assert_true(shared_wrong("forward", BUG_NO_BARRIER) > 0);
    assert_true(shared_wrong("reverse", BUG_NO_BARRIER) > 0 ||
                shared_wrong("shuffle:1", BUG_NO_BARRIER) > 0);
    assert_int_equal(twice_wrong("ahead", BUG_REUSE), BLOCKS);
    assert_int_equal(shared_wrong("forward", BUG_UNWRITTEN), BLOCKS);
    assert_int_equal(shared_wrong("forward", BUG_UNWRITTEN_BLOCK), BLOCKS - 1);
}

static float race(const char *order)
{
    struct fixture f;
    float v;

    emulator_order(order);
    fixture_init(&f);
    OK(cudaMemsetAsync(f.y, 0, sizeof(f.host), f.dev.stream));
    test_sum_shared(&f.dev, f.x, f.y, BLOCKS, BUG_RACE);
    fetch(&f, f.y);
    v = f.host[0];
    fixture_release(&f);
    emulator_order("forward");
    return v;
}

static void test_orders(void **state)
{
    (void)state;
    assert_true(race("forward") == race("forward"));
    assert_true(race("forward") != race("reverse"));
    assert_true(race("shuffle:1") != race("shuffle:5"));
}

static void test_warp_values(void **state)
{
    static const int at[] = {0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 24};
    static const int want[] = {
        2016, 63, 48, (int)0xaaaaaaaau, 5, 11, 10, 1, 1, 23, 0, 1, 31, 36, 35, 32};
    static const char *const order[] = {"forward", "reverse", "shuffle:3", "ahead"};
    int *host;
    struct fixture f;

    (void)state;
    for (int i = 0; i < 4; i++) {
        emulator_order(order[i]);
        fixture_init(&f);
        test_integers(&f.dev, (int *)(void *)f.y);
        fetch(&f, f.y);
        host = (int *)(void *)f.host;
        for (int k = 0; k < (int)(sizeof(at) / sizeof(at[0])); k++)
            if (host[at[k]] != want[k])
                fail_msg("element %d is %d, not %d", at[k], host[at[k]], want[k]);
        assert_int_equal(host[3], host[4]);
        fixture_release(&f);
    }
    emulator_order("forward");
}

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
    fetch(&f, f.x);
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
    fetch(&f, f.y);
    assert_true(f.host[0] == 4 && f.host[N - 1] == N + 3);
    OK(cudaGraphExecDestroy(exec));
    fixture_release(&f);
}

/* Ends a capture that something broke. */
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
    fetch(&f, f.x);
    assert_true(f.host[0] == 4);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    fixture_release(&f);
}

/* ---- streams that run late ---- */

/* Copies a pinned buffer in, overwrites it, and sees which of the two arrived. */
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
    fetch(&f, f.x);
    got = f.host[0];
    OK(cudaFreeHost(pinned));
    fixture_release(&f);
    return got;
}

/* A second stream reads what the first one writes. */
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
    fetch(&f, f.y);
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
    fetch(&f, f.x);
    assert_true(f.host[0] == 121);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths),         cmocka_unit_test(test_results),
        cmocka_unit_test(test_orders),         cmocka_unit_test(test_warp_values),
        cmocka_unit_test(test_replay),         cmocka_unit_test(test_illegal_in_capture),
        cmocka_unit_test(test_forked_capture), cmocka_unit_test(test_lazy),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_host_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
