/* Fibers: functions that can stop and resume later, all on one thread. */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H

struct fiber;

/* Creates a fiber stopped before the first line of fn(arg). Its stack is recycled. */
struct fiber *fiber_new(void (*fn)(void *arg), void *arg);

/* Runs the fiber until it stops; must not be called from a fiber. */
void fiber_run(struct fiber *f);

/* Stops the running fiber and returns from fiber_run(); returns when it is resumed. */
void fiber_stop(void);

/* Stops the running fiber and resumes a stopped one in its place; returns when it is
 * resumed. */
void fiber_switch(struct fiber *dst);

#endif
