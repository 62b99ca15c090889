/* Processor cores that this process may use, and other processes of the run on this
 * machine. */
#ifndef BASE_CORES_H
#define BASE_CORES_H

/*
 * Returns the cores in its affinity, or its control group's quota if that is less: with
 * more threads, some would wait for the others' quota. At least 1.
 */
int usable_cores(void);

/* Announces that n processes like this one share the machine: usable_cores() returns this
 * one's share of cores that nothing has divided yet (a launcher may have bound each
 * process to its own), host_memory() its share of memory. */
void machine_shared_by(int n);
int machine_processes(void); /* 1: no other process */

#endif
