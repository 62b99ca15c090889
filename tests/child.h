/*
 * Runs a function in a child process, for tests of functions that end the program.
 *
 * die() and usage() leave the child at once: exit() handlers belong to the parent, and an
 * OpenMP runtime's handler crashes without its threads. For the same reason the function
 * cannot start OpenMP threads, as a session does, if the parent ever did. And it must not
 * assert: cmocka would run the next test in the child.
 */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

enum { CHILD_SIGNAL = 128 }; /* as in a shell: 134 is SIGABRT */

/*
 * Runs fn(arg) in a child. Returns its stderr, for free(), and in *code how it ended: 0
 * if fn returned, its exit code, or CHILD_SIGNAL + signal.
 */
char *child_run(void (*fn)(void *arg), void *arg, int *code);

/* Fails unless fn(arg) exits with `code` and prints `why`. */
void check_leaves(void (*fn)(void *arg), void *arg, int code, const char *why);

/* The same with die()'s code. */
void check_dies(void (*fn)(void *arg), void *arg, const char *why);

#endif
