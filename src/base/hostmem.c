#include "base/hostmem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/alloc.h"

/* The limit of one group; SIZE_MAX: "max", or no such file. */
static size_t limit_of(const char *group)
{
    char *path = xasprintf("/sys/fs/cgroup%s/memory.max", group);
    FILE *f = fopen(path, "re");
    unsigned long long limit = SIZE_MAX;
    char line[32];

    if (f && fgets(line, sizeof(line), f) && line[0] >= '0' && line[0] <= '9')
        limit = strtoull(line, NULL, 10);
    if (f)
        (void)fclose(f);
    free(path);
    return (size_t)limit;
}

/* The least limit of this process's group and of those that it lies in (cgroup v2). */
static size_t group_limit(void)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[4096], *group = NULL, *slash;
    size_t least = limit_of(""), limit;

    while (f && !group && fgets(line, sizeof(line), f))
        if (!strncmp(line, "0::/", 4))
            group = line + 3;
    if (f)
        (void)fclose(f);
    if (group)
        group[strcspn(group, "\n")] = '\0';
    while (group && (slash = strrchr(group, '/'))) {
        limit = limit_of(group);
        least = limit < least ? limit : least;
        *slash = '\0';
    }
    return least;
}

size_t host_memory(void)
{
    size_t group = group_limit(), all;
    struct sysinfo info;

    if (sysinfo(&info))
        return group;
    all = (size_t)(info.totalram + info.totalswap) * info.mem_unit;
    return all < group ? all : group;
}
