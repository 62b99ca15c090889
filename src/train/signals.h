/*
 * SIGTERM, SIGINT, SIGHUP, and SIGUSR1 (a batch system's warning before its time limit)
 * tell a run to save and exit. They set a flag, which training and evaluation check after
 * every batch. A SIGINT after any of them ends the program at once, and so does any of
 * them before signals_started(): there is nothing to save yet, but the handler writes the
 * file that signals_leave_word() has prepared. SIGHUP stays ignored if it was (nohup).
 * SIGPIPE is ignored, because the reader of the log may exit first, as tee does at
 * Ctrl-C, and the run must still save.
 */
#ifndef TRAIN_SIGNALS_H
#define TRAIN_SIGNALS_H

#include <stddef.h>

enum { SIGNALS = 4 };
extern const int signals_all[SIGNALS]; /* SIGTERM, ... */

/* `exit_code`: exit code after a signal before signals_started(); 0: 128 + signal. */
void signals_install(int exit_code);
void signals_started(void);
int signals_pending(void);         /* Returns the first signal that arrived, or 0. */
const char *signals_name(int sig); /* "SIGTERM" */
void signals_raise(int sig);       /* Acts like the signal, which another process got. */

/*
 * The contents of `path` after signal signals_all[i] before signals_started(). Set it
 * before signals_install; names and texts must stay valid forever.
 */
struct signals_word {
    char *path, *tmp; /* from atomic_names() */
    char *text[SIGNALS];
    size_t len[SIGNALS];
};
void signals_leave_word(const struct signals_word *w);

#endif
