/*
 * A user's command that runs next to a training run: in its own process group, with empty
 * input and its output on stderr. When it ends, when it is stopped, and when this process
 * ends, even by SIGKILL, its whole group is killed; a process that should survive leaves
 * the group (setsid).
 *
 *   struct command c;
 *   if (!command_start(&c, words, env, &why)) ...      nothing was started
 *   while (!command_ended(&c, 0.1)) ...
 *   c.status                                           as in waitpid()
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

enum { COMMANDS_MAX = 64 }; /* maximum running commands */

struct command {
    pid_t pid; /* 0: not running */
    int status;
    double began; /* clock_now() */
};

/* words[0] is searched in PATH; `env`: "NAME=value", ended by NULL. Returns false with
 * the reason on errors. */
bool command_start(struct command *c, const char *const *words, char *const *env,
                   struct strbuf *why);

/*
 * Waits up to `seconds` and returns true if it has ended; a signal to this process cuts
 * the wait short.
 */
bool command_ended(struct command *c, double seconds);

/* Kills it and its group. */
void command_stop(struct command *c);

/* Same for all running commands, before an immediate exit. Async-signal-safe. */
void command_kill_all(void);

/* Appends "ended with 3" or "was killed by SIGSEGV"; nothing after success. */
void command_add_status(struct strbuf *s, const struct command *c);

#endif
