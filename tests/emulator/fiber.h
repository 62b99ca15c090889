/* Fibers: functions that can stop in the middle and go on later, all on one thread. */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H

struct fiber;

/* Stopped before the first line of fn(arg). Its stack is returned for the next one. */
struct fiber *fiber_new(void (*fn)(void *arg), void *arg);

/* Runs the fiber until it stops; the caller may not be one. */
void fiber_run(struct fiber *f);

/* Stops the running fiber, and fiber_run() returns; returns when somebody runs it again. */
void fiber_stop(void);

/* Stops the running fiber and runs another one, which has been stopped before, in its place;
 * returns when somebody runs it again. */
void fiber_switch(struct fiber *to);

#endif
