/*
 * make DEBUG=1 forbids allocations in steps. Allocations by the runtime, the driver, and
 * a profiler for a launch, a capture, or a replay are exempt.
 */
#include "tests/base/alloc_debug.h"

#include <signal.h>

#include "cuda/backend.h"
#include "cuda/cast.h"
#include "graph/kernel.h"
#include "tests/child.h"
#include "tests/test.h"

enum { N = 64 };

struct trial {
    struct device *dev;
    void *x, *y;
};

static void trial_init(struct trial *t)
{
    t->dev = backend_cuda.open(&(struct device_options){0});
    t->x = backend_cuda.alloc(t->dev, N * sizeof(float));
    t->y = backend_cuda.alloc(t->dev, N * sizeof(uint16_t));
}

static void trial_release(struct trial *t)
{
    backend_cuda.free(t->dev, t->x);
    backend_cuda.free(t->dev, t->y);
    backend_cuda.close(t->dev);
}

static void launch(struct trial *t)
{
    static const struct kernel kernel = {.name = "kernel"};
    struct node node = {.layer = "layer"};
    struct step s = {.kernel = &kernel, .node = &node};

    backend_cuda.mark(t->dev, &s, 0);
    cuda_cast(t->dev, t->y, DTYPE_F16, t->x, DTYPE_F32, N);
    backend_cuda.mark(t->dev, NULL, 0);
}

static void test_eager(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t);
    (void)alloc_forbid(true);
    launch(&t);
    (void)alloc_forbid(false);
    backend_cuda.sync(t.dev);
    trial_release(&t);
}

static void test_captured(void **state)
{
    struct trial t;
    void *captured;

    (void)state;
    trial_init(&t);
    (void)alloc_forbid(true);
    assert_true(backend_cuda.capture_begin(t.dev));
    launch(&t);
    captured = backend_cuda.capture_end(t.dev);
    backend_cuda.replay(t.dev, captured);
    (void)alloc_forbid(false);
    backend_cuda.sync(t.dev);
    backend_cuda.capture_free(t.dev, captured);
    trial_release(&t);
}

/* Other allocations in a kernel's run() are still detected. */
static void test_own_allocations(void *arg)
{
    struct trial t;
    void *volatile sink;

    (void)arg;
    trial_init(&t);
    (void)alloc_forbid(true);
    launch(&t);
    sink = malloc(N);
    (void)sink;
}

static void test_own(void **state)
{
    (void)state;
#ifdef OTHER_MALLOC
    skip();
#endif
    check_leaves(test_own_allocations, NULL, CHILD_SIGNAL + SIGABRT,
                 "64 bytes are allocated inside a step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eager),
        cmocka_unit_test(test_captured),
        cmocka_unit_test(test_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
