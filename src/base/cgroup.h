/*
 * Limits of a process's control groups (a container, a SLURM job): Linux's
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, scheduler/sched-bwc.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stddef.h>

struct cgroup_limits {
    size_t memory; /* bytes; SIZE_MAX: unlimited */
    double cpus;   /* quota of processor time; HUGE_VAL: none */
};

/*
 * Returns the minimum over the process's groups and their parents, v2 or v1. Unreadable
 * limits do not count.
 *
 *   root  mount point of the groups: "/sys/fs/cgroup"
 *   self  list of the groups: "/proc/self/cgroup"
 */
struct cgroup_limits cgroup_limits(const char *root, const char *self);

/* Returns the limits of this process. */
struct cgroup_limits cgroup_of_process(void);

#endif
