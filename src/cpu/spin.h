/*
 * How long an idle OpenMP thread spins before it sleeps. libgomp's default is about a
 * millisecond, measured in iterations (300,000): on a machine that is shared, or whose
 * loader threads want a core, the spinning thread keeps the core from the very thread it
 * waits for, and a step of 45 ms becomes one of 600 ms. A few microseconds cost nothing
 * on an idle machine and let others in.
 *
 * libgomp reads GOMP_SPINCOUNT once, before main. So this runs the program again with it
 * set, unless the user has set it or OMP_WAIT_POLICY. Call first in main.
 */
#ifndef CPU_SPIN_H
#define CPU_SPIN_H

void spin_briefly(char **argv);

#endif
