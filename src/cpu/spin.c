#include "cpu/spin.h"

#include <stdlib.h>
#include <unistd.h>

void spin_briefly(char **argv)
{
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    if (!setenv("GOMP_SPINCOUNT", "3000", 1))
        (void)execv("/proc/self/exe", argv); /* if it fails, the run is only slower */
}
