/*
 * What control groups (a container, a SLURM job) allow a process: Linux's
 * Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, scheduler/sched-bwc.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stddef.h>

struct cgroup_limits {
    size_t memory; /* bytes; SIZE_MAX: no limit */
    double cpus;   /* a quota of processor time; HUGE_VAL: none */
};

/*
 * The least of the process's groups and of those that they lie in, v2 or v1. What cannot
 * be read is no limit.
 *   root  where the groups are mounted: "/sys/fs/cgroup"
 *   self  which they are: "/proc/self/cgroup"
 */
struct cgroup_limits cgroup_limits(const char *root, const char *self);

/* The limits of this process. */
struct cgroup_limits cgroup_own(void);

#endif
