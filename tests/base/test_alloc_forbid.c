/* The debug check that no step allocates, in every build except sanitizer builds, which
 * bring their own malloc. */
#include "tests/base/alloc_debug.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include "cpu/backend.h"
#include "cpu/device.h"
#include "graph/backend.h"
#include "tests/child.h"
#include "tests/test.h"

static void *volatile sink; /* keeps calls from being optimized away */

static void by_malloc(void)
{
    sink = malloc(3);
}

static void by_calloc(void)
{
    sink = calloc(3, 5);
}

static void by_realloc(void)
{
    sink = realloc(NULL, 7);
}

static void by_strdup(void)
{
    sink = strdup("from inside the C library");
}

static void by_posix_memalign(void)
{
    void *p = NULL;

    if (!posix_memalign(&p, 64, 64))
        sink = p;
}

static void by_aligned_alloc(void)
{
    sink = aligned_alloc(64, 64);
}

static void by_memalign(void)
{
    sink = memalign(64, 64);
}

static void by_xalloc_aligned(void)
{
    sink = xalloc_aligned(3);
}

static void last_thread_allocates(void *arg, int thread)
{
    const struct device *dev = arg;

    if (thread == dev->threads - 1)
        by_malloc();
}

static void by_thread(void)
{
    struct device_options o = {.threads = 2};
    bool before = alloc_forbid(false);
    struct device *dev = backend_cpu.open(&o);

    (void)alloc_forbid(before);
    cpu_parallel(dev, last_thread_allocates, dev);
}

struct attempt {
    void (*fn)(void);
    bool forbid;
};

static void make_attempt(void *arg)
{
    const struct attempt *a = arg;

    (void)alloc_forbid(a->forbid);
    a->fn();
}

/* True if fn ends with a BUG; otherwise it ends with 0. */
static bool is_bug(void (*fn)(void), bool forbid)
{
    int code;

    free(child_run(make_attempt, &(struct attempt){fn, forbid}, &code));
    assert_true(code == CHILD_SIGNAL + SIGABRT || !code);
    return code;
}

static void test_forbidden(void **state)
{
    static const struct {
        const char *name;
        void (*fn)(void);
    } way[] = {
        {"malloc", by_malloc},
        {"calloc", by_calloc},
        {"realloc", by_realloc},
        {"strdup", by_strdup},
        {"posix_memalign", by_posix_memalign},
        {"aligned_alloc", by_aligned_alloc},
        {"memalign", by_memalign},
        {"xalloc_aligned", by_xalloc_aligned},
        {"a thread of cpu_parallel", by_thread},
    };

    (void)state;
#ifdef OTHER_MALLOC
    skip();
#endif
    for (size_t i = 0; i < sizeof(way) / sizeof(*way); i++) {
        if (!is_bug(way[i].fn, true))
            fail_msg("%s is not noticed", way[i].name);
        if (is_bug(way[i].fn, false))
            fail_msg("%s is a bug where it is allowed", way[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forbidden)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
