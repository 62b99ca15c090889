/*
 * What the verbs that run a model on images have in common.
 */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/cmd.h"

extern const struct cmd_flag run_flags[];

/* In the metadata of exported weights: the configuration that they were trained with. */
#define RUN_CONFIG_META "trainc_config"

/* Mistakes that are known before a file is touched but for its existence. */
void run_check(const struct config *cfg, bool train, struct problems *p);
/* Before the configuration is loaded: without --cfg that which the weights of the verb
 * were trained with is read before --opts and flags, if they hold it. */
void run_take_config(const struct verb *v, struct cmdline *line);
/* Of eval: there are some, and what the command line names is what would be taken. */
void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);

/* Before any work: can the file that `flag` names, if it is given, be written? */
void run_check_writable(const struct cmdline *line, const char *flag, struct problems *p);

/* With --json - the standard output is JSON alone, and what is for people goes beside. */
void run_keep_out(const struct cmdline *line);

/* Writes --result, if it is given, with the exit code 2 and the mistakes. */
void run_refuse(const struct cmdline *line, const struct problems *p);

#endif
