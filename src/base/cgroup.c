#include "base/cgroup.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Reads the first line of a group's file; returns false if there is none. */
static bool read_line(const char *group, const char *name, char line[64])
{
    char *path = xasprintf("%s/%s", group, name);
    FILE *f = fopen(path, "re");
    bool ok = f && fgets(line, 64, f);

    if (f)
        (void)fclose(f);
    free(path);
    return ok;
}

/* Returns -1 for "max", "-1", or a missing file. */
static double read_number(const char *group, const char *name)
{
    char line[64];

    return read_line(group, name, line) && line[0] >= '0' && line[0] <= '9'
               ? strtod(line, NULL)
               : -1;
}

static void limit_memory(struct cgroup_limits *l, double bytes)
{
    if (bytes >= 0 && bytes < (double)l->memory)
        l->memory = (size_t)bytes;
}

static void limit_cpus(struct cgroup_limits *l, double quota, double period)
{
    if (quota > 0 && period > 0)
        l->cpus = fmin(l->cpus, quota / period);
}

static void take_group(struct cgroup_limits *l, const char *group)
{
    char line[64], *period;

    limit_memory(l, read_number(group, "memory.max"));
    limit_memory(l, read_number(group, "memory.limit_in_bytes"));
    if (read_line(group, "cpu.max", line)) { /* "150000 100000", "max 100000" */
        double quota = strtod(line, &period);

        limit_cpus(l, quota, strtod(period, NULL));
    }
    limit_cpus(l, read_number(group, "cpu.cfs_quota_us"),
               read_number(group, "cpu.cfs_period_us"));
}

/*
 * Applies a group and all groups that contain it. Inside a container the path may be the
 * host's, of which only the root is visible.
 */
static void take_groups(struct cgroup_limits *l, const char *root, const char *mount,
                        const char *path)
{
    char *group = xasprintf("%s%s%s", root, mount, path), *slash;
    size_t root_len = strlen(root) + strlen(mount);

    for (;;) {
        take_group(l, group);
        if (strlen(group) <= root_len || !(slash = strrchr(group + root_len, '/')))
            break;
        *slash = '\0';
    }
    free(group);
}

/* Parses a line of `self`: hierarchy:controllers:path, in v2 0::path. */
static void take_line(struct cgroup_limits *l, const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *path, *name, *rest = NULL;

    path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (!controllers[1])
        take_groups(l, root, "", path);
    for (name = strtok_r(controllers + 1, ",", &rest); name;
         name = strtok_r(NULL, ",", &rest))
        if (!strcmp(name, "memory"))
            take_groups(l, root, "/memory", path);
        else if (!strcmp(name, "cpu"))
            take_groups(l, root, "/cpu", path);
}

struct cgroup_limits cgroup_limits(const char *root, const char *self)
{
    struct cgroup_limits l = {SIZE_MAX, HUGE_VAL};
    FILE *f = fopen(self, "re");
    char line[4096];

    while (f && fgets(line, sizeof(line), f))
        take_line(&l, root, line);
    if (f)
        (void)fclose(f);
    return l;
}

struct cgroup_limits cgroup_of_process(void)
{
    return cgroup_limits("/sys/fs/cgroup", "/proc/self/cgroup");
}
