/*
 * Flags of other trainers (timm, torchvision, PyTorch's and other scripts) that trainc
 * lacks, and their equivalents.
 */
#ifndef CONFIG_FOREIGN_H
#define CONFIG_FOREIGN_H

#include <stdbool.h>

#include "base/arena.h"

struct schema;

struct foreign {
    const char *names; /* "-a, --arch" */
    const char *value; /* the value it takes; "": none */
    const char *here;  /* what to write instead, or why there is no equivalent */
};

/* Gets row i of the table. Returns false after the last. */
bool foreign_get(int i, struct foreign *row);

/*
 * Returns what to write instead of the flag `text` ("--experiment", "--experiment=x",
 * "-a"), or why there is no equivalent; NULL if the flag is unknown. *value: true if its
 * values follow as separate words.
 */
const char *foreign_flag(const char *text, bool *value);

/* The same with a flag that only some verbs have: "--weights FILE"; NULL if none has one. */
const char *foreign_verb_flag(const char *text);

/* The same for a key, learning_rate or SOLVER.NUM_WORKERS, by its last part. */
const char *foreign_name(const char *key);

/* Converts a key, or the unique end of one, that is written as a flag:
 * "TRAIN.EPOCHS=VALUE" for --train.epochs, "TRAIN.LR_SCHEDULER.MULTISTEPS=VALUE" for
 * --multisteps. Returns NULL if no key matches. */
const char *foreign_key(const struct schema *schema, const char *text, struct arena *mem);

/* Returns what a stray file or folder may be: "a configuration: --cfg FILE?"; or NULL. */
const char *foreign_path(const char *text);

#endif
