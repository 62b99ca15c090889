/*
 * What other trainers call things: flags of timm's, torchvision's, PyTorch's and others'
 * scripts that trainc does not have, and what is there instead.
 */
#ifndef CONFIG_FOREIGN_H
#define CONFIG_FOREIGN_H

#include <stdbool.h>

#include "base/arena.h"

struct schema;

struct foreign {
    const char *names; /* "-a, --arch" */
    const char *value; /* what it takes; "": nothing */
    const char *here;  /* what to write instead, or why there is nothing */
};

/* Row i of the table; false after the last. */
bool foreign_at(int i, struct foreign *row);

/*
 * What to write in place of the flag `text` ("--experiment", "--experiment=x", "-a"), or
 * why there is nothing; NULL: not known. *value: its values follow as words of their own.
 */
const char *foreign_flag(const char *text, bool *value);

/* The same of a key, learning_rate or SOLVER.NUM_WORKERS, by its last part. */
const char *foreign_name(const char *key);

/* "TRAIN.LR_SCHEDULER.MULTISTEPS=VALUE" of --multisteps, "TRAIN.EPOCHS=VALUE" of
 * --train.epochs: a key, or the end of one key's name, as a flag. NULL: of no key. */
const char *foreign_key(const struct schema *schema, const char *text, struct arena *mem);

/* What a file or folder that stands alone may be: "a configuration: --cfg
 * FILE?"; NULL. */
const char *foreign_path(const char *text);

#endif
