/*
 * The ports of mpirun on one machine. Open MPI 4's out-of-band component listens on all
 * interfaces whatever its parameters say, and asks for no password, although nobody
 * connects where all processes are here.
 */
#ifndef CMD_LAUNCH_PORTS_H
#define CMD_LAUNCH_PORTS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Moves the sockets on which this child listens beyond the loopback interface to it.
 * Returns false if the kernel (5.6 or later) or a container does not allow that.
 */
bool launch_ports_close(pid_t child);

#endif
