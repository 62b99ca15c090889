/*
 * Starts every child process: an evaluator, the runs of a sweep, mpirun, hooks, ssh.
 *
 * A child never outlives this process by accident: the kernel sends it `death` when the
 * thread that started it ends, even by SIGKILL. (That thread must live as long as the
 * child is needed.) The child has only descriptors 0, 1, and 2, no blocked signals, and
 * default handlers; SIGHUP stays ignored if it was (nohup). The memory of this process is
 * not copied, as a process with a GPU or MPI must not be.
 *
 *   struct process p = {.words = words, .death = SIGTERM};
 *   pid_t pid = process_start(&p, &why);
 *   ...
 *   process_end(pid, 5);
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* This program, even if its path now has another file. */
#define PROCESS_SELF "/proc/self/exe"

struct process {
    const char *const *words; /* argv, ended by NULL */
    const char *program;      /* NULL: words[0], searched in PATH */
    char *const *env;         /* NULL: that of this process */
    int death;                /* signal sent to it when this process ends */
    int in, out, err;         /* its descriptors 0, 1, and 2; 0: /dev/null, and ours */
    bool input;               /* descriptor 0 is ours, too */
    int nice;                 /* added to its priority */
    bool group;               /* leads its own process group */
    /*
     * Kills its whole group when this process ends: a shell outside the group watches for
     * that. Call process_forget() after the group was killed and before it is reaped.
     */
    bool guarded;
};

/* Returns the process id, or 0 with the reason in `why` if it cannot be started. */
pid_t process_start(const struct process *p, struct strbuf *why);

/* Stops guarding the group of a guarded child. */
void process_forget(pid_t pid);

/*
 * Waits up to `seconds` for the end of a child and reaps it. Returns false if it is still
 * running. `status` (may be NULL) is that of waitpid().
 */
bool process_wait(pid_t pid, double seconds, int *status);

/* Sends SIGTERM and after `patience` seconds SIGKILL. Returns even if the child is stuck
 * in a driver and reacts to neither. */
void process_end(pid_t pid, double patience);

/*
 * For a parent that forwards signals: `handler` receives SIGTERM, SIGINT, SIGHUP, and
 * SIGUSR1, which interrupt system calls. An ignored SIGHUP (nohup) stays ignored.
 */
void process_catch_signals(void (*handler)(int sig));

/* True if "NAME=value" belongs only to this process: it comes from its launcher or a
 * hook. */
bool process_owns(const char *variable);

#endif
