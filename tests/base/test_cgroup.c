/* Limits of control groups, read from file trees like the kernel's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cgroup.h"
#include "base/cores.h"
#include "base/hostmem.h"
#include "tests/make_folder.h"
#include "tests/test.h"

/* Files in a new folder, "PATH text", and the contents of /proc/self/cgroup or NULL. */
struct tree {
    const char *name, *file[8], *self;
    size_t memory;
    double cpus;
};

static const struct tree trees[] = {
    {"none", {0}, "0::/\n", SIZE_MAX, HUGE_VAL},
    {"no file", {0}, NULL, SIZE_MAX, HUGE_VAL},
    {"v2, the group itself",
     {"a/memory.max 1000\n", "a/cpu.max 150000 100000\n"},
     "0::/a\n",
     1000,
     1.5},
    {"v2, no limits",
     {"a/memory.max max\n", "a/cpu.max max 100000\n"},
     "0::/a\n",
     SIZE_MAX,
     HUGE_VAL},
    {"v2, the group above has less",
     {"a/memory.max 1000\n", "a/cpu.max 50000 100000\n", "a/b/memory.max 3000\n",
      "a/b/cpu.max 400000 100000\n"},
     "0::/a/b\n",
     1000,
     0.5},
    {"v2, one between has most",
     {"a/memory.max 2000\n", "a/b/memory.max max\n", "a/b/c/memory.max 5000\n",
      "a/b/c/cpu.max 200000 50000\n"},
     "0::/a/b/c\n",
     2000,
     4},
    {"v2, in a container: the group is the root",
     {"memory.max 7000\n", "cpu.max 300000 100000\n"},
     "0::/\n",
     7000,
     3},
    {"v2, the host's path inside of a container",
     {"memory.max 7000\n", "cpu.max 300000 100000\n"},
     "0::/../docker/0123\n",
     7000,
     3},
    {"v2, a neighbour's limits are not ours",
     {"a/memory.max 10\n", "ab/memory.max 20\n", "ab/cpu.max 100000 100000\n"},
     "0::/ab\n",
     20,
     1},
    {"v1",
     {"memory/a/memory.limit_in_bytes 5000\n", "cpu/b/cpu.cfs_quota_us 250000\n",
      "cpu/b/cpu.cfs_period_us 100000\n"},
     "11:pids:/x\n4:memory:/a\n3:cpuset:/x\n2:cpu,cpuacct:/b\n0::/x\n",
     5000,
     2.5},
    {"v1, no limits",
     {"memory/memory.limit_in_bytes 9223372036854771712\n", "cpu/cpu.cfs_quota_us -1\n",
      "cpu/cpu.cfs_period_us 100000\n"},
     "4:memory:/\n2:cpu,cpuacct:/\n",
     9223372036854771712U,
     HUGE_VAL},
    {"v1, the host's path inside of a container",
     {"memory/memory.limit_in_bytes 6000\n", "cpu/cpu.cfs_quota_us 200000\n",
      "cpu/cpu.cfs_period_us 100000\n"},
     "4:memory:/docker/0123\n2:cpuacct,cpu:/docker/0123\n",
     6000,
     2},
    {"v1, controllers that only look like them",
     {"cpu/a/cpu.cfs_quota_us 100000\n", "cpu/a/cpu.cfs_period_us 100000\n"},
     "2:cpuacct:/a\n3:cpuset:/a\n",
     SIZE_MAX,
     HUGE_VAL},
    {"what is no line of it", {"memory.max x\n"}, "nonsense\n0:\n\n", SIZE_MAX, HUGE_VAL},
};

static void test_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        const struct tree *t = &trees[i];
        char *root = make_temp_dir(), *self = xasprintf("%s/self", root);
        struct cgroup_limits l;

        for (int k = 0; k < 8 && t->file[k]; k++) {
            const char *text = strchr(t->file[k], ' ') + 1;
            char *path = xasprintf("%.*s", (int)(text - 1 - t->file[k]), t->file[k]);

            make_file(root, path, text, strlen(text));
            free(path);
        }
        if (t->self)
            make_file(root, "self", t->self, strlen(t->self));
        l = cgroup_limits(root, self);
        if (l.memory != t->memory || !(l.cpus == t->cpus))
            fail_msg("%s: %zu bytes, %g processors", t->name, l.memory, l.cpus);
        free(self);
        remove_temp_dir(root);
    }
}

/* The limits of this process are unknown, but positive. */
static void test_own(void **state)
{
    struct cgroup_limits l = cgroup_of_process();

    (void)state;
    assert_true(l.memory > 0);
    assert_true(l.cpus > 0);
}

/* Several processes on a machine each get their share. */
static void test_shared(void **state)
{
    size_t memory = host_memory();
    int cores = usable_cores();

    (void)state;
    machine_shared_by(3);
    assert_true(host_memory() == memory / 3);
    assert_true(usable_cores() >= 1 && usable_cores() <= cores);
    machine_shared_by(1);
    assert_true(host_memory() == memory && usable_cores() == cores);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
