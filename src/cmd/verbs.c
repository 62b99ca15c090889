/* All verbs, in the order of the help. The first one is the default. */
#include <stddef.h>

#include "cmd/cmd.h"

const struct verb *const verb_table[] = {
    &cmd_train,  &cmd_eval,   &cmd_predict, &cmd_export, &cmd_summary, &cmd_bench,
    &cmd_config, &cmd_models, &cmd_devices, &cmd_synth,  &cmd_help,    NULL,
};
