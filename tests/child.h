/*
 * A function in a process of its own, for tests of what ends the program.
 *
 * die() and usage() leave the child at once: handlers of exit() are the parent's, and
 * that of an OpenMP runtime crashes where its threads are not. For the same reason the
 * function cannot run threads of OpenMP, as a session does, if the parent ever did. And
 * it must not assert: cmocka would go on with the next test, in the child.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

enum { CHILD_SIGNAL = 128 }; /* as a shell counts: 134 is SIGABRT */

/*
 * Runs fn(arg) in a child. Returns what it said on stderr, for free(); in *code how it
 * ended: 0 if fn returned, its exit code, or CHILD_SIGNAL and the signal.
 */
char *child_run(void (*fn)(void *arg), void *arg, int *code);

/* Fails unless fn(arg) leaves with `code` and says `why`. */
void check_leaves(void (*fn)(void *arg), void *arg, int code, const char *why);

/* The same with the code of die(). */
void check_dies(void (*fn)(void *arg), void *arg, const char *why);

#endif
