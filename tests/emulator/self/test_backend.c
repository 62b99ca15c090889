/*
 * The CUDA backend on the emulator with lazy streams: what alloc and sync wait for, which
 * calls are counted, and the properties of a described GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/backend.h"
#include "tests/emulator/counters.h"
#include "tests/test.h"

enum { SIZE = 4096 };

struct trial {
    const struct backend *b;
    struct device *dev;
    char *host, got[SIZE];
};

static void trial_init(struct trial *t)
{
    memset(t, 0, sizeof(*t));
    t->b = &backend_cuda;
    t->dev = t->b->open(&(struct device_options){0});
    t->host = t->b->async->host_alloc(t->dev, SIZE);
    memset(t->host, 'a', SIZE);
    emulator_lazy(1);
}

static void trial_release(struct trial *t)
{
    emulator_lazy(0);
    t->b->async->host_free(t->dev, t->host);
    t->b->close(t->dev);
}

static void check_got(struct trial *t, const void *src)
{
    t->b->copy_out(t->dev, t->got, src, SIZE);
    for (int i = 0; i < SIZE; i++)
        assert_int_equal(t->got[i], 'a');
}

/* New memory is zeroed before LANE_COPY writes to it. */
static void test_alloc(void **state)
{
    struct trial t;
    void *p, *event;

    (void)state;
    trial_init(&t);
    p = t.b->alloc(t.dev, SIZE);
    event = t.b->async->event_new(t.dev);
    t.b->async->copy_in(t.dev, LANE_COPY, p, t.host, SIZE);
    t.b->async->record(t.dev, LANE_COPY, event);
    t.b->async->await(t.dev, event);
    check_got(&t, p);
    t.b->async->event_free(t.dev, event);
    trial_release(&t);
}

/* After sync both lanes are empty. */
static void test_sync(void **state)
{
    struct trial t;
    void *p[2];

    (void)state;
    trial_init(&t);
    for (int lane = LANE_RUN; lane <= LANE_COPY; lane++) {
        p[lane] = t.b->alloc(t.dev, SIZE);
        t.b->async->copy_in(t.dev, (enum lane)lane, p[lane], t.host, SIZE);
    }
    t.b->sync(t.dev);
    memset(t.host, 'b', SIZE);
    check_got(&t, p[LANE_RUN]);
    check_got(&t, p[LANE_COPY]);
    trial_release(&t);
}

static void test_memory(void **state)
{
    struct device_memory m;
    struct trial t;
    void *p;

    (void)state;
    trial_init(&t);
    for (int i = 0; i < 3; i++) {
        p = t.b->alloc(t.dev, SIZE);
        assert_true(t.b->memory(t.dev, &m));
        assert_int_equal(m.held, SIZE);
        t.b->free(t.dev, p);
    }
    assert_true(t.b->memory(t.dev, &m));
    assert_int_equal(m.held, 0);
    assert_int_equal(m.peak, SIZE);
    assert_int_equal(t.b->peak_memory(t.dev), SIZE);
    trial_release(&t);
}

/* bf16 came with compute capability 8.0. */
static void test_types(void **state)
{
    static const int version[] = {750, 800, 900};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[] = "/tmp/trainc-gpu-XXXXXX";
        int fd = mkstemp(path);
        struct device *dev;

        assert_true(fd >= 0);
        (void)dprintf(fd,
                      "{\"deviceName\":\"a GPU\",\"deviceVer\":%d,"
                      "\"multiProcessorCount\":40,\"totalGlobalMem\":16106127360,"
                      "\"l2CacheSize\":4194304,\"maxSharedMemoryPerBlockOptin\":65536,"
                      "\"maxThreadsPerSM\":1024}",
                      version[i]);
        (void)close(fd);
        dev = backend_cuda.open(&(struct device_options){.description = path});
        assert_true(backend_cuda.has_dtype(dev, DTYPE_F16));
        assert_int_equal(backend_cuda.has_dtype(dev, DTYPE_BF16), version[i] >= 800);
        backend_cuda.close(dev);
        (void)unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alloc),
        cmocka_unit_test(test_sync),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_types),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
