/*
 * SIGTERM, SIGINT, SIGHUP and SIGUSR1 (a batch system's warning before its time limit)
 * ask a run to save and leave: a flag that is looked at after every batch, in training
 * and in evaluation. A SIGINT after any of them ends the program at once, and so does any
 * of them before signals_started(): there is nothing to save yet, but
 * signals_leave_word() may have prepared a file that tells of it. SIGHUP stays ignored
 * where it was (nohup). SIGPIPE is ignored: who reads the log may go before the run does,
 * as tee does at Ctrl-C, and the run still has to save.
 */
#ifndef TRAIN_SIGNALS_H
#define TRAIN_SIGNALS_H

#include <stddef.h>

enum { SIGNALS = 4 };
extern const int signals_all[SIGNALS]; /* SIGTERM, ... */

void signals_install(int exit_code); /* of a start that is cut off; 0: 128 + signal */
void signals_started(void);
int signals_pending(void);         /* the first signal that came, or 0 */
const char *signals_name(int sig); /* "SIGTERM" */
void signals_raise(int sig);        /* as if it had come: another process got it */

/*
 * Before signals_install: what `path` shall hold if signals_all[i] cuts the start off.
 * Names and texts must stay for ever.
 */
struct signals_word {
    char *path, *tmp; /* as atomic_names() gives them */
    char *text[SIGNALS];
    size_t len[SIGNALS];
};
void signals_leave_word(const struct signals_word *w);

#endif
