/*
 * Closes mpirun's ports to other machines if all processes run on this one. Open MPI 4's
 * out-of-band component listens on all interfaces, whatever its parameters, without a
 * password.
 */
#ifndef CMD_LAUNCH_PORTS_H
#define CMD_LAUNCH_PORTS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Moves the listening sockets of this child to the loopback interface. Returns false if
 * the kernel (before 5.6) or a container does not allow that.
 */
bool launch_ports_close(pid_t child);

#endif
