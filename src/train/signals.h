/*
 * SIGTERM, SIGINT and SIGHUP ask a run to save and leave: a flag that is looked at behind
 * every batch, in training and in evaluation. A SIGINT behind any of them ends the
 * program at once, and so does any of them before signals_started(): there is nothing to
 * save yet. SIGHUP stays ignored where it was (nohup). SIGPIPE is ignored: who reads the
 * log may go before the run does, as tee does at Ctrl-C, and the run still has to save.
 */
#ifndef TRAIN_SIGNALS_H
#define TRAIN_SIGNALS_H

void signals_install(int exit_code); /* of a start that is cut off; 0: 128 + signal */
void signals_started(void);
int signals_pending(void);         /* the first signal that came, or 0 */
const char *signals_name(int sig); /* "SIGTERM" */

#endif
