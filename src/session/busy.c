#include "session/busy.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

int busy_fair_threads(double load, int cores, int threads)
{
    int n = (int)(threads * (cores / (load + threads)) + 0.5);

    return n < 1 ? 1 : n < threads ? n : threads;
}

void busy_note(const struct session *s)
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), threads = omp_get_max_threads(), fair;
    double load;

    if (strcmp(s->backend->name, "cpu") != 0 || getloadavg(&load, 1) < 1 || load <= cores)
        return;
    fair = busy_fair_threads(load, cores, threads);
    if (fair < threads)
        log_once("the machine is busy with other programs (load average %.1f, %d cores): "
                 "--threads %d may be faster than %d",
                 load, cores, fair, threads);
}
