/* Shared code of the checkpoint tests: a temporary folder, and a state to save. */
#ifndef TESTS_TRAIN_CHECKPOINT_RUN_H
#define TESTS_TRAIN_CHECKPOINT_RUN_H

#include "tests/session/train_run.h"
#include "train/checkpoint.h"

extern const struct class_list ckpt_classes;
extern const struct run_state ckpt_state;
extern const char *const ckpt_adamw_ema[]; /* for run_init: AdamW and an EMA */

/* Between setup and teardown: a folder, empty at first, and the name of a checkpoint in
 * it. */
extern char ckpt_dir[64], ckpt_path[128];
int ckpt_setup(void **state);
int ckpt_teardown(void **state);

/* Fails the test on errors. */
void ckpt_store(const char *dst, const struct session *s, const struct run_state *state,
                const struct class_list *classes, const char *config);
void ckpt_write(struct run *r, const char *dst);
void ckpt_damage(const char *file, long pos); /* flips one bit of the byte at `pos` */

/* Fails the test unless both runs have the same bits in this memory. */
void ckpt_same_array(struct run *a, struct run *b, enum memory m);

#endif
