/*
 * A command of the user's beside a run: in a process group of its own, its input empty,
 * its output on stderr. When it ends, when it is stopped, and when this process ends, also
 * by SIGKILL, all of its group is killed: what is to live on leaves the group (setsid).
 *
 *   struct command c;
 *   if (!command_start(&c, words, env, &why)) ...      nothing was started
 *   while (!command_ended(&c, 0.1)) ...
 *   c.status                                           as waitpid() has it
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

enum { COMMANDS_MOST = 64 }; /* under way at once */

struct command {
    pid_t pid; /* 0: none is under way */
    int status;
    double began; /* clock_now() */
};

/* words[0] is looked up in PATH; `env`: "NAME=value", NULL at the end. False: why. */
bool command_start(struct command *c, const char *const *words, char *const *env,
                   struct strbuf *why);

/*
 * Has it ended? Waits so many seconds for that; a signal to this process cuts that short.
 */
bool command_ended(struct command *c, double seconds);

/* Kills it and its group. */
void command_stop(struct command *c);

/*
 * The same of all that are under way: for who leaves at once, also in a signal handler.
 */
void command_kill_all(void);

/* "ended with 3", "was killed by SIGSEGV"; nothing if it ended well. */
void command_add_status(struct strbuf *s, const struct command *c);

#endif
