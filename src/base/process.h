/*
 * Starts every child process: an evaluator, the runs of a sweep, mpirun, hooks, ssh.
 *
 * A child never outlives this process by accident: the kernel sends it `death` when the
 * thread that started it ends, also by SIGKILL. (That thread must live as long as the
 * child is wanted.) It has no descriptors but 0, 1, and 2, no blocked signals, and default
 * handlers; SIGHUP stays ignored where it was (nohup). The memory of this process is not
 * copied, as a process with a GPU or MPI must not be.
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

/* This very program, whatever lies at its path now. */
#define PROCESS_SELF "/proc/self/exe"

struct process {
    const char *const *words; /* argv, NULL at the end */
    const char *program;      /* NULL: words[0], looked up in PATH */
    char *const *env;         /* NULL: that of this process */
    int death;                /* the signal it gets when this process ends */
    int in, out, err;         /* its 0, 1, and 2; 0: /dev/null, and ours */
    bool input;               /* 0 is ours, too */
    int nice;                 /* added to its priority; 0: none */
    bool group;               /* it leads a process group of its own */
    /*
     * And all of that group is killed when this process ends. A shell outside of the
     * group watches for that; process_forget() once it is killed, before it is reaped.
     */
    bool guarded;
};

/* Returns the process id, or 0 if it cannot be started (`why` says the reason). */
pid_t process_start(const struct process *p, struct strbuf *why);

/* The group of a guarded child is to be killed no more. */
void process_forget(pid_t pid);

/*
 * Waits at most so many seconds for the end of a child, and reaps it. False: it is still
 * there. `status` (may be NULL) as waitpid() has it.
 */
bool process_wait(pid_t pid, double seconds, int *status);

/* SIGTERM, after so many seconds SIGKILL. Returns although the child is stuck in a driver
 * and takes neither. */
void process_end(pid_t pid, double patience);

/*
 * For a parent that hands signals on: `handler` gets SIGTERM, SIGINT, SIGHUP, and SIGUSR1,
 * which end system calls. An ignored SIGHUP (nohup) stays so.
 */
void process_catch_signals(void (*handler)(int sig));

/* True if "NAME=value" is of this process alone: of its launcher, or of a hook. */
bool process_owns(const char *variable);

#endif
