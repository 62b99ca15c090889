/*
 * Shared by the verbs that run a model on images.
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

/* Metadata key of exported weights: the configuration of their training. */
#define RUN_CONFIG_META "trainc_config"

/* Reports errors that can be found before any work. Reads only the headers of weights. */
void run_check(const struct config *cfg, bool train, struct problems *p);
/* Parts of run_check: MODEL.RESUME; and the weights that a run starts from, if it is
 * `fresh`, or needs for its losses. */
void run_check_resume(const struct config *cfg, struct problems *p);
void run_check_start(const struct config *cfg, bool train, bool fresh,
                     struct problems *p);
/*
 * For verbs that use the weights of --weights FILE or else of MODEL.PRETRAINED. The first
 * reports missing weights, and weights of an unknown model. The second returns their path
 * as a heap string, or NULL if neither is given.
 */
void run_check_own_weights(const struct config *cfg, const struct cmdline *line,
                           struct problems *p);
char *run_own_weights(const struct config *cfg, const struct cmdline *line);
/* For verbs that describe a model: returns --weights FILE, or else the checkpoint that the
 * command line resumes, or NULL. */
const char *run_described_weights(const struct cmdline *line);
/* For verbs that read no weights: reports files on the command line that are not files of
 * weights. */
void run_check_unread_weights(const struct config *cfg, const struct cmdline *line,
                              struct problems *p);
/* Call before loading the configuration. Without --cfg, uses the configuration saved in
 * the verb's weights, if any; --opts and flags override it. Exits if the file is
 * damaged. */
void run_use_saved_config(const struct verb *v, struct cmdline *line);
/* The same for the given file of weights; NULL: none. */
void run_use_saved_config_of(const char *path, struct cmdline *line);
/* Call before the model is looked for: makes the model whose graph MODEL.RESUME carries. */
void run_use_saved_graph(const struct config *cfg);
/* Call after loading the configuration. Clears MODEL.PRETRAINED_SKIP if it comes from the
 * saved configuration, where it concerned the start of that run. */
void run_reset_start_keys(struct config *cfg, const struct cmdline *line);
/*
 * Returns the class names of the weights of run_own_weights() as a JSON array, which the
 * caller releases: those in the file, those of ImageNet for public weights, or those of a
 * config.json. Returns NULL if they are unknown. Sets MODEL.NUM_CLASSES from the weights,
 * unless the configuration sets it.
 */
json_t *run_classes(struct config *cfg, const struct cmdline *line, const char *weights);
/* For eval: reports missing weights, and weights on the command line that would be
 * ignored. */
void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p);

/* Call before any work. Reports if the file named by `flag` cannot be written, or exists
 * but was not written by trainc as this kind. */
void run_check_writable(const struct cmdline *line, const char *flag, enum written kind,
                        struct problems *p);

/* True if the file name has an extension of torch.save files. */
bool run_is_pickle_name(const char *path);

/* Returns the value of a flag as an integer; exits unless it lies in [min, max]. */
int64_t run_number(const char *flag, const char *text, int64_t min, int64_t max);
/* Returns the value of a flag as a number above 0; exits if it is not one. */
double run_amount(const char *flag, const char *text);
/* Returns run_number() of a flag of the command line, or `otherwise` if it is not given. */
int64_t run_flag_number(const struct cmdline *line, const char *flag, int64_t otherwise,
                        int64_t min, int64_t max);

/* For verbs with verb.main: returns the value of the flag ("--x V" or "--x=V") if it is at
 * argv[*i], and advances *i to it; returns NULL if argv[*i] is something else. */
const char *run_own_value(const char *flag, int argc, char **argv, int *i);

/* With --json -, reserves the standard output for JSON and sends other text to stderr. */
void run_reserve_stdout(const struct cmdline *line);

/* Writes the exit code and the errors to --result, if it is given. */
void run_refuse(const struct cmdline *line, const struct problems *p, int code);

#endif
