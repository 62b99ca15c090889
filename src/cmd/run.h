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
        "--result", "FILE", "write the result to FILE as one JSON object"                \
    }

/* In the metadata of exported weights: the configuration that they were trained with. */
#define RUN_CONFIG_META "trainc_config"

/* Mistakes that are known before any work; of files of weights the header is read. */
void run_check(const struct config *cfg, bool train, struct problems *p);
/*
 * For verbs that use weights as they are, those of --weights FILE or, without it, of
 * MODEL.PRETRAINED. The first adds a mistake if there are none, or if neither they nor
 * the configuration say of which model they are; the second returns the path, a heap
 * string, or NULL if neither is given.
 */
void run_check_own_weights(const struct config *cfg, const struct cmdline *line,
                           struct problems *p);
char *run_own_weights(const struct config *cfg, const struct cmdline *line);
/* For verbs that read no weights: are those that the command line names files of them? */
void run_check_unread_weights(const struct config *cfg, const struct cmdline *line,
                              struct problems *p);
/* Called before the configuration is loaded. Without --cfg it takes the configuration
 * from the verb's weights, if they hold one, and exits if these are damaged; --opts and flags are applied after it. */
void run_take_config(const struct verb *v, struct cmdline *line);
/* Called after it was loaded: which weights the taken run passed over when it began says
 * nothing of its own. */
void run_forget_start(struct config *cfg, const struct cmdline *line);
/*
 * The names of the classes of weights that are used as they are (run_own_weights): those
 * in the file, ImageNet's of public weights, or those of a config.json. A JSON array that the caller releases;
 * NULL: none are known. Sets MODEL.NUM_CLASSES to what the weights have, unless the
 * configuration sets it.
 */
json_t *run_classes(struct config *cfg, const struct cmdline *line, const char *weights);
/* For eval: are there weights, and would those that the command line names be taken? */
void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);

/* Called before any work: can the file that `flag` names, if it is given, be written, and
 * is a file that lies there already one that trainc wrote, of this kind? */
void run_check_writable(const struct cmdline *line, const char *flag, enum written kind,
                        struct problems *p);

/* Is it a name for what torch.save writes, and no .safetensors file? */
bool run_is_pickle_name(const char *path);

/* The value of a flag as a whole number; exits unless it lies in [least, most]. */
int64_t run_number(const char *flag, const char *text, int64_t least, int64_t most);
/* The value of a flag as a number above 0; exits if it is none. */
double run_amount(const char *flag, const char *text);
/* run_number() of a flag of the command line; `otherwise` if it is not given. */
int64_t run_flag_number(const struct cmdline *line, const char *flag, int64_t otherwise,
                        int64_t least, int64_t most);

/* For a verb with a main() of its own: the value of the flag "--x V" or "--x=V" if it is
 * argv[*i], which moves to V; NULL: argv[*i] is another word. */
const char *run_own_value(const char *flag, int argc, char **argv, int *i);

/* With --json - the standard output is JSON alone, and what is for people goes beside. */
void run_keep_out(const struct cmdline *line);

/* Writes --result, if it is given, with the exit code and the mistakes. */
void run_refuse(const struct cmdline *line, const struct problems *p, int code);

#endif
