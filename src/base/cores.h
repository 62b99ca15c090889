/* How many processor cores this process may use, and who else uses the machine. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

/*
 * Those of its affinity or, if that is less, what the quota of its control group is worth:
 * more threads would spend it in turns, and wait for each other meanwhile. At least 1.
 */
int usable_cores(void);

/* From now on n processes like this one share the machine: usable_cores() is this one's
 * part of those that nothing has parted yet (a launcher may have bound each process to
 * its own), host_memory() that of the memory. */
void machine_shared_by(int n);
int machine_processes(void); /* 1: alone */

#endif
