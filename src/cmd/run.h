/*
 * What the verbs that run a model on images share.
 */
#ifndef CMD_RUN_H
#define CMD_RUN_H

#include "cmd/cmd.h"
#include "io/json.h"
#include "io/written.h"

#define RUN_RESULT_FLAG                                                                  \
    {                                                                                    \
        "--result", "FILE", "write the outcome to FILE as one JSON object"               \
    }

/* In the metadata of exported weights: the configuration that they were trained with. */
#define RUN_CONFIG_META "trainc_config"

/* Mistakes that are known before any file is read; only whether it exists is asked. */
void run_check(const struct config *cfg, bool train, struct problems *p);
/*
 * Of verbs that use weights as they are: those of --weights FILE or, without it, of
 * MODEL.PRETRAINED; that there are some, and the file: a heap string, NULL without any.
 */
void run_check_own_weights(const struct config *cfg, const struct cmdline *line,
                           struct problems *p);
char *run_own_weights(const struct config *cfg, const struct cmdline *line);
/* Before the configuration is loaded: without --cfg that which the weights of the verb
 * were trained with is read before --opts and flags, if they hold it. */
void run_take_config(const struct verb *v, struct cmdline *line);
/* The classes that the weights were trained with, if they say so, a JSON array;
 * or NULL. */
json_t *run_saved_classes(const char *weights);
/* Their number is MODEL.NUM_CLASSES, unless the configuration insists on one. */
void run_adopt_classes(struct config *cfg, const json_t *list);
/* For eval: there are some, and those that the command line names would be taken. */
void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);

/* Before any work: can the file that `flag` names, if it is given, be written, and is
 * what lies there of this kind and trainc's own? */
void run_check_writable(const struct cmdline *line, const char *flag, enum written kind,
                        struct problems *p);

/* A whole number, the value of a flag: exits unless it lies within the two. */
int64_t run_number(const char *flag, const char *text, int64_t least, int64_t most);
/* An amount above 0, the value of a flag. */
double run_amount(const char *flag, const char *text);
/* The same of the command line; `otherwise` if it is not given. */
int64_t run_flag_number(const struct cmdline *line, const char *flag, int64_t otherwise,
                        int64_t least, int64_t most);

/* For a verb with a main() of its own: the value of the flag "--x V" or "--x=V" if it is
 * argv[*i], which moves to V; NULL: argv[*i] is another word. */
const char *run_own_value(const char *flag, int argc, char **argv, int *i);

/* With --json - the standard output is JSON alone, and what is for people goes beside. */
void run_keep_out(const struct cmdline *line);

/* Writes --result, if it is given, with the exit code 2 and the mistakes. */
void run_refuse(const struct cmdline *line, const struct problems *p);

#endif
