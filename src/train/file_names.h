/*
 * Maps the names in a weights file to those of a model, by removing a prefix ("module.",
 * "backbone.") or with another project's naming scheme (train/schemes.h).
 *
 *   struct file_names n;
 *   const char *refuse = file_names_find(&n, &file, "vit", name, count);
 *   if (refuse) ...                     the file is for a net that trainc does not have
 *   t = file_names_get(&n, "blocks.0.attn.qkv.weight");
 *   file_names_release(&n);
 */
#ifndef TRAIN_FILE_NAMES_H
#define TRAIN_FILE_NAMES_H

#include <stdbool.h>

#include "io/weights_file.h"
#include "models/table.h"
#include "train/schemes.h"

struct file_names {
    const struct weights_file *file;
    char *prefix;                  /* prefix of the names in the file */
    const struct scheme *scheme;   /* naming scheme of the file; NULL: timm's */
    struct scheme_names by_scheme; /* the file's tensors by the model's names */
};

/*
 * Chooses the mapping with which the file has the most of the model's `count` tensors;
 * name[0] is the first weight. Returns NULL, or the reason why no model of the family can
 * use the file.
 */
const char *file_names_find(struct file_names *n, const struct weights_file *file,
                            const char *family, const char *const *name, int count);
void file_names_release(struct file_names *n);

/* Returns the tensor of the file, or the part of one, that is the model's `name`, or NULL
 * if there is none. */
const struct safetensors_tensor *file_names_get(const struct file_names *n,
                                                const char *name);

/* The same for the bias of a layer, or its weight if the file has no bias. */
const struct safetensors_tensor *file_names_layer(const struct file_names *n,
                                                  const char *layer);

/* Returns the index in the file of the tensor that file_names_get() returned. */
size_t file_names_index(const struct file_names *n, const struct safetensors_tensor *t);

/* Like weights_file_read(), but also reads parts. `data` must hold the whole tensor. */
int file_names_read(const struct file_names *n, const struct safetensors_tensor *t,
                    char *data, struct strbuf *why);

/* True if files of the family may have a tensor of this name that the model lacks: one
 * that the net computes, optimizer state, or one that the scheme drops. */
bool file_names_extra(const struct file_names *n, const struct model_family *f,
                      const char *name);

/* True if the names are those of the EMA weights of a checkpoint. */
bool file_names_ema(const struct file_names *n);

/* Returns a name of the file without the prefix; with a scheme, returns it unchanged. */
const char *file_names_plain(const struct file_names *n, const char *name);

/* True if `name` is the bias of one of these layers (ended by NULL) and the file, which
 * follows another project's scheme, has only the layer's weight: its bias is zero. */
bool file_names_no_bias(const struct file_names *n, const char *const *layer,
                        const char *name);

#endif
