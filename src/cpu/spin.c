#include "cpu/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void spin_briefly(char **argv)
{
    /* not "exe", as it is called after the run below: for pkill and top */
    (void)prctl(PR_SET_NAME, program_invocation_short_name);
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    if (!setenv("GOMP_SPINCOUNT", "3000", 1))
        (void)execv("/proc/self/exe", argv); /* if it fails, the run is only slower */
}
