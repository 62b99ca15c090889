/*
 * Sets how long an idle OpenMP thread spins before it sleeps. libgomp's default is about
 * a millisecond, measured in iterations (300,000). On a shared machine, or if loader
 * threads need a core, the spinning thread blocks the very thread it waits for, and a
 * step of 45 ms takes 600 ms. Spinning for a few microseconds costs nothing on an idle
 * machine and yields to other threads.
 *
 * libgomp reads GOMP_SPINCOUNT once, before main. So this function re-executes the
 * program with it set, unless the user has set it or OMP_WAIT_POLICY. It must be called
 * first in main.
 */
#ifndef CPU_SPIN_H
#define CPU_SPIN_H

void spin_briefly(char **argv);

#endif
