/* Several emulated devices, and averaging between their threads (cuda/nccl.h). */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/nccl.h"
#include "tests/child.h"
#include "tests/emulator/counters.h"
#include "tests/emulator/self/fixture.h"
#include "tests/emulator/self/kernels.h"
#include "tests/test.h"

enum { RANKS = 2 };

static const int devices[RANKS] = {0, 1};

/* ---- ownership by a device ---- */

static void use_other_memory(void *arg)
{
    struct fixture f;

    (void)arg;
    fixture_init(&f);
    if (cudaSetDevice(1))
        return;
    fixture_init(&f);
    (void)cudaSetDevice(0);
    (void)cudaStreamCreateWithFlags(&f.dev.stream, cudaStreamNonBlocking);
    test_increment(&f.dev, f.x, f.y, N); /* memory of device 1 in a stream of device 0 */
}

static void use_other_stream(void *arg)
{
    struct fixture f;

    (void)arg;
    fixture_init(&f);
    if (cudaSetDevice(1))
        return;
    test_increment(&f.dev, f.x, f.y, N);
}

static void test_own(void **state)
{
    int n = 0, code;
    char *said;

    (void)state;
    OK(cudaGetDeviceCount(&n));
    assert_int_equal(n, RANKS);
    assert_int_equal(cudaSetDevice(RANKS), cudaErrorInvalidDevice);
    (void)cudaGetLastError();
    said = child_run(use_other_memory, NULL, &code);
    assert_non_null(strstr(said, "is memory of device 1"));
    assert_int_equal(code, CHILD_SIGNAL + SIGABRT);
    free(said);
    check_dies(use_other_stream, NULL, "invalid resource handle");
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    OK(cudaGetDeviceCount(&n));
    assert_int_equal(n, 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* ---- means ---- */

struct meeting {
    pthread_barrier_t barrier;
    char told[256];
};

static struct meeting meeting;

static void exchange(const struct collective *c, void *x, int n)
{
    if (!c->rank)
        memcpy(meeting.told, x, (size_t)n);
    (void)pthread_barrier_wait(&meeting.barrier);
    memcpy(x, meeting.told, (size_t)n);
    (void)pthread_barrier_wait(&meeting.barrier);
}

static void waits(const struct collective *c, bool waiting)
{
    (void)c;
    (void)waiting;
}

struct worker {
    pthread_t thread;
    struct collective group;
    int count; /* elements per call, which must agree */
    float got[2];
};

/* Twice eagerly and twice replayed: x + 1 becomes the mean; y is computed after it. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct fixture f;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    if (cudaSetDevice(devices[w->group.rank]))
        abort();
    fixture_init(&f);
    for (int i = 0; i < N; i++)
        f.host[i] *= (float)(w->group.rank + 1);
    OK(cudaMemcpy(f.x, f.host, sizeof(f.host), cudaMemcpyHostToDevice));
    nccl_reduce(&f.dev, &w->group, f.x, w->count, NCCL_FP32, NCCL_AVG);
    OK(cudaStreamBeginCapture(f.dev.stream, cudaStreamCaptureModeThreadLocal));
    f.dev.recording = true;
    test_increment(&f.dev, f.x, f.x, N);
    nccl_reduce(&f.dev, &w->group, f.x, w->count, NCCL_FP32, NCCL_AVG);
    test_increment(&f.dev, f.x, f.y, N);
    OK(cudaStreamEndCapture(f.dev.stream, &graph));
    f.dev.recording = false;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphLaunch(exec, f.dev.stream));
    OK(cudaGraphLaunch(exec, f.dev.stream));
    fixture_fetch(&f, f.y);
    w->got[0] = f.host[0];
    w->got[1] = f.host[N - 1];
    OK(cudaGraphExecDestroy(exec));
    nccl_close(&f.dev);
    fixture_release(&f);
    return NULL;
}

static void run(struct worker *w, int count)
{
    (void)pthread_barrier_init(&meeting.barrier, NULL, RANKS);
    for (int r = 0; r < RANKS; r++) {
        w[r] = (struct worker){.group = {.world = RANKS,
                                         .rank = r,
                                         .broadcast = exchange,
                                         .waits = waits,
                                         .devices = devices},
                               .count = r ? count : N};
        (void)pthread_create(&w[r].thread, NULL, work, &w[r]);
    }
    for (int r = 0; r < RANKS; r++)
        (void)pthread_join(w[r].thread, NULL);
    (void)pthread_barrier_destroy(&meeting.barrier);
}

static void test_mean(void **state)
{
    static const char *const order[] = {"forward", "reverse", "shuffle:5"};
    struct worker w[RANKS];

    (void)state;
    for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
        emulator_order(order[k]);
        run(w, N);
        for (int r = 0; r < RANKS; r++) { /* 1.5 i, twice one more, and once in y */
            assert_true(w[r].got[0] == 1.5f + 3);
            assert_true(w[r].got[1] == 1.5f * N + 3);
        }
    }
    emulator_order("forward");
}

static void differ(void *arg)
{
    struct worker w[RANKS];

    (void)arg;
    run(w, N / 2);
}

static void test_differing_calls(void **state)
{
    int code;
    char *said = child_run(differ, NULL, &code);

    (void)state;
    assert_non_null(strstr(said, "one rank calls AllReduce of "));
    assert_int_equal(code, CHILD_SIGNAL + SIGABRT);
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_differing_calls),
        cmocka_unit_test(test_mean),
    };

    setenv("EMULATOR_GPUS", "2", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
