/*
 * Names of parameters in files of others, as timm's names: one table, a row per scheme
 * (official ConvNeXt, torchvision, ...), which says by which tensor it is recognized and
 * what replaces what in a name. timm's checkpoint_filter_fn functions have the same facts.
 *
 *   struct scheme_names names = {0};
 *   if (scheme_marks(&schemes[i], tensor, n))
 *       scheme_names_make(&names, &schemes[i], tensor, n);
 *   t = scheme_names_find(&names, "stages.0.blocks.0.conv_dw.weight");
 *   scheme_names_release(&names);
 */
#ifndef TRAIN_SCHEMES_H
#define TRAIN_SCHEMES_H

#include <stdbool.h>

#include "base/strmap.h"
#include "io/safetensors.h"

/*
 * Rows apply in order, each to the first place where it matches. In `from` a '#' is a
 * number, '^' the start and '$' the end of a name. In `to` a '#' is the next number;
 * commas cut a tensor into equal parts along its first dim; each names the last word of a
 * part, and without one the part is dropped. NULL drops the tensor.
 */
struct scheme_row {
    const char *from, *to;
};

struct scheme {
    const char *name;   /* "torchvision"; NULL ends the table */
    const char *family; /* MODEL.TYPE */
    const char *mark;   /* a name that only its files have; if it is refused, the end of
                       * a name */
    const struct scheme_row *row; /* from == NULL ends them; NULL if refused */
    const char *only;   /* names without this in front are dropped; NULL: none */
    const char *refuse; /* why no model of the family is that net; NULL */
    const char *note;   /* a warning: what such names do not tell; NULL */
    bool cut_ones;      /* [768, 1, 1] is [768] */
    bool microsoft;     /* bias tables are resized as Microsoft's loader does */
};

extern const struct scheme schemes[];

/* A tensor of a file, or a part of it: `of` is its index, t.offset the bytes in front. */
struct scheme_item {
    struct safetensors_tensor t; /* the name is timm's; first member */
    size_t of;
};

struct scheme_names {
    struct scheme_item *item;
    size_t n;
    struct strmap index; /* timm's name to item */
};

/* Does a file of these tensors have the scheme's mark? */
bool scheme_marks(const struct scheme *s, const struct safetensors_tensor *tensor,
                  size_t n);

/* Of a scheme that is not refused. */
void scheme_names_make(struct scheme_names *names, const struct scheme *s,
                       const struct safetensors_tensor *tensor, size_t n);
/* NULL if there is none. */
const struct safetensors_tensor *scheme_names_find(const struct scheme_names *names,
                                                   const char *name);
void scheme_names_release(struct scheme_names *names);

/* False if the scheme drops tensors of this name (a decoder, another head). */
bool scheme_keeps(const struct scheme *s, const char *name);

#endif
