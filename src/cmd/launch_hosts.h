/*
 * The machines of trainc launch, "a:2,b:2" as mpirun's --host takes them: which of them
 * still answer after a failure.
 */
#ifndef CMD_LAUNCH_HOSTS_H
#define CMD_LAUNCH_HOSTS_H

#include <stdbool.h>

#include "base/strbuf.h"

/* True if all of `hosts` are this machine. */
bool hosts_all_here(const char *hosts);

/*
 * Appends those of `hosts` that answer to `alive` and returns their slots; others are
 * named in the log. A machine answers if what mpirun starts its daemons with (ssh, or
 * OMPI_MCA_plm_rsh_agent) runs `true` on it within 10 seconds; this one always does.
 */
int hosts_alive(const char *hosts, struct strbuf *alive);

#endif
