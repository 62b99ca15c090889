/* Copies and fills of any size write the expected bytes and nothing else. */
#include <string.h>

#include "cpu/backend.h"
#include "cpu/bandwidth.h"
#include "tests/test.h"

enum { ROOM = 3 << 16, MARK = 0x5a };

/* Sizes around a cache line, a page, and the split between two threads. */
static const size_t sizes[] = {0,    1,    63,    64,      65,    4095,
                               4096, 4097, 12345, 1 << 17, 150001};

struct buffers {
    struct device *dev;
    unsigned char *src, *dst;
};

static struct buffers setup(void)
{
    struct buffers m;

    m.dev = backend_cpu.open(&(struct device_options){0});
    m.src = backend_cpu.alloc(m.dev, ROOM);
    m.dst = backend_cpu.alloc(m.dev, ROOM);
    for (int i = 0; i < ROOM; i++)
        m.src[i] = (unsigned char)(i * 7 + i / 256);
    return m;
}

static void teardown(struct buffers *m)
{
    backend_cpu.free(m->dev, m->src);
    backend_cpu.free(m->dev, m->dst);
    backend_cpu.close(m->dev);
}

static void check_rest(const struct buffers *m, size_t size)
{
    for (size_t i = size; i < ROOM; i++)
        assert_int_equal(m->dst[i], MARK);
}

/* fill: CPU_FILL is written instead of a copy. */
static void check_sizes(bool fill)
{
    struct buffers m = setup();

    if (fill)
        memset(m.src, CPU_FILL, ROOM);
    for (size_t k = 0; k < 2 * sizeof(sizes) / sizeof(*sizes); k++) {
        size_t size = sizes[k / 2];

        memset(m.dst, MARK, ROOM);
        if (fill)
            cpu_fill(m.dev, m.dst, size, k % 2);
        else
            cpu_copy(m.dev, m.dst, m.src, size, k % 2);
        assert_memory_equal(m.dst, m.src, size);
        check_rest(&m, size);
    }
    teardown(&m);
}

static void test_copy(void **state)
{
    (void)state;
    check_sizes(false);
}

static void test_fill(void **state)
{
    (void)state;
    check_sizes(true);
}

static void test_read(void **state)
{
    struct buffers m = setup();

    (void)state;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        cpu_read(m.dev, m.src, sizes[k]); /* a sanitizer detects reads outside */
    assert_true(cpu_copy_bandwidth(m.dev) > 1e6);
    teardown(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
