/*
 * The hosts of trainc launch ("a:2,b:2", the format of mpirun's --host): finds those that
 * still respond after a failure.
 */
#ifndef CMD_LAUNCH_HOSTS_H
#define CMD_LAUNCH_HOSTS_H

#include <stdbool.h>

#include "base/strbuf.h"

/* True if all hosts are this machine. */
bool hosts_all_here(const char *hosts);

/*
 * Appends the hosts that respond to `alive` and returns the sum of their slots; logs the
 * others. A host responds if mpirun's remote shell (ssh, or OMPI_MCA_plm_rsh_agent) runs
 * `true` on it within 10 seconds. This machine always responds.
 */
int hosts_alive(const char *hosts, struct strbuf *alive);

#endif
