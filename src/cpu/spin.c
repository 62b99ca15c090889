#include "cpu/spin.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void spin_briefly(char **argv)
{
    /* restores the name, which the run below would change to "exe", for pkill and top */
    (void)prctl(PR_SET_NAME, program_invocation_short_name);
    if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
        return;
    if (!setenv("GOMP_SPINCOUNT", "3000", 1))
        (void)execv("/proc/self/exe", argv); /* on failure, the run is only slower */
}
