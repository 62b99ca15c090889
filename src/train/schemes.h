/*
 * Converts parameter names in other projects' files to timm's names. The table has a row
 * per naming scheme (official ConvNeXt, torchvision, ...) with the tensor that identifies
 * it and the replacements in its names. timm's checkpoint_filter_fn functions do the
 * same.
 *
 *   struct scheme_names names = {0};
 *   if (scheme_marks(&schemes[i], tensor, n))
 *       scheme_names_make(&names, &schemes[i], tensor, n, model, count);
 *   t = scheme_names_find(&names, "stages.0.blocks.0.conv_dw.weight");
 *   scheme_names_release(&names);
 */
#ifndef TRAIN_SCHEMES_H
#define TRAIN_SCHEMES_H

#include <stdbool.h>

#include "base/strmap.h"
#include "io/safetensors.h"

/*
 * Rows apply in order, each at the first place where it matches. In `pattern`, '#' matches
 * a number, '^' the start, and '$' the end of a name. In `replacement`, '#' is the next
 * number that matched. Commas split a tensor into equal parts along its first dimension
 * and separate the last words of the parts' names; a part without a name is dropped. NULL
 * drops the tensor.
 */
struct scheme_row {
    const char *pattern, *replacement;
};

struct scheme {
    const char *name;   /* "torchvision"; NULL ends the table */
    const char *family; /* MODEL.TYPE */
    const char *mark;   /* a name that only its files have; or, if refused, a suffix */
    const struct scheme_row *row; /* ended by from == NULL; NULL if refused */
    const char *only;             /* names without this prefix are dropped; may be NULL */
    const char *refuse;           /* reason why the model cannot use the file, or NULL */
    /* Suffixes of the model's tensors, or NULL: refused unless there is one; refused only
     * if there is one (a net that ends with a stage may use the file). */
    const char *accepts_suffix, *refuses_suffix;
    const char *note; /* warning about facts that the names do not reveal, or NULL */
    /* Prefix of blocks that are counted through all stages, from `first_block`: _blocks.2.
     * becomes blocks.1.1. if that is the model's third block. NULL: no such blocks. */
    const char *blocks;
    int first_block;
    bool cut_ones;  /* [768, 1, 1] and [1, 1, 1, 768] become [768] */
    bool microsoft; /* resizes bias tables like Microsoft's loader */
};

extern const struct scheme schemes[];

/* A tensor of a file, or a part of one that begins t.offset bytes into it. */
struct scheme_item {
    struct safetensors_tensor t; /* first member; name is timm's */
    size_t index;                /* index of the tensor in the file */
};

struct scheme_names {
    struct scheme_item *item;
    size_t n;
    struct strmap index; /* timm's name -> item */
};

/* True if a file with these tensors has the scheme's mark. */
bool scheme_marks(const struct scheme *s, const struct safetensors_tensor *tensor,
                  size_t n);

/* True if the scheme refuses a file for a model with these `count` names. */
bool scheme_refuses(const struct scheme *s, const char *const *model, int count);

/* Fills `names`; the scheme must not be a refused one. `model` are the model's `count`
 * names, in the order of its state dict. */
void scheme_names_make(struct scheme_names *names, const struct scheme *s,
                       const struct safetensors_tensor *tensor, size_t n,
                       const char *const *model, int count);
/* Returns NULL if there is no such tensor. */
const struct safetensors_tensor *scheme_names_find(const struct scheme_names *names,
                                                   const char *name);
void scheme_names_release(struct scheme_names *names);

/* False if the scheme drops tensors of this name (a decoder, another head). */
bool scheme_keeps(const struct scheme *s, const char *name);

#endif
