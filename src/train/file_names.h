/*
 * How the names in a file of weights become those of a model: by what stands in front of
 * them ("module.", "backbone."), or by another project's scheme (train/schemes.h).
 *
 *   struct file_names n;
 *   const char *refuse = file_names_find(&n, &file, "vit", name, count);
 *   if (refuse) ...                     the file is of a net that no model here is
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
    char *prefix;                  /* in front of every name of the file */
    const struct scheme *scheme;   /* whose names they are; NULL: timm's */
    struct scheme_names by_scheme; /* the file's tensors by the model's names */
};

/*
 * The way by which the file has the most of the model's `count` tensors, name[0] being
 * the first weight. NULL, or why it is of a net that no model of the family is.
 */
const char *file_names_find(struct file_names *n, const struct weights_file *file,
                            const char *family, const char *const *name, int count);
void file_names_release(struct file_names *n);

/* The tensor of the file, or the part of one, that is the model's `name`; or NULL. */
const struct safetensors_tensor *file_names_get(const struct file_names *n,
                                                const char *name);

/* The place in the file of what file_names_get() returned. */
size_t file_names_index(const struct file_names *n, const struct safetensors_tensor *t);

/* As weights_file_read(), also of a part. `data` has room for the whole tensor. */
int file_names_read(const struct file_names *n, const struct safetensors_tensor *t,
                    char *data, struct strbuf *why);

/* True if files of the family may have a tensor of this name that the model has not: what
 * the net computes, an optimizer's state, what the scheme drops. */
bool file_names_extra(const struct file_names *n, const struct model_family *f,
                      const char *name);

/* A name of the file as the model would call it; where a scheme is, as it is. */
const char *file_names_plain(const struct file_names *n, const char *name);

/* Is `name` the bias of one of these layers (NULL at the end) of which the file has the
 * weight alone? Such a layer of another project has a bias of zero. */
bool file_names_no_bias(const struct file_names *n, const char *const *layer,
                        const char *name);

#endif
