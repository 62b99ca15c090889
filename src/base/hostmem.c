#include "base/hostmem.h"

#include <sys/sysinfo.h>

#include "base/cgroup.h"
#include "base/cores.h"

size_t host_memory(void)
{
    size_t group = cgroup_of_process().memory, all;
    struct sysinfo info;

    if (sysinfo(&info))
        return group;
    all = (size_t)(info.totalram + info.totalswap) * info.mem_unit;
    return (all < group ? all : group) / (size_t)machine_processes();
}
