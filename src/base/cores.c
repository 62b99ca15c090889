#include "base/cores.h"

#include <math.h>
#include <omp.h>
#include <unistd.h>

#include "base/cgroup.h"

static int processes = 1;

void machine_shared_by(int n)
{
    processes = n > 1 ? n : 1;
}

int machine_processes(void)
{
    return processes;
}

int usable_cores(void)
{
    double quota = ceil(cgroup_of_process().cpus);
    int bound = omp_get_num_procs(), cores = quota < bound ? (int)quota : bound;

    if (bound == sysconf(_SC_NPROCESSORS_ONLN) || cores < bound)
        cores /= processes;
    return cores < 1 ? 1 : cores;
}
