/*
 * The layers whose rows are the classes: linear layers and convolutions, which get other
 * weights for another number of classes. The last layer of each output is found by use,
 * unless MODEL.HEAD names all of them.
 */
#ifndef PT2_HEAD_H
#define PT2_HEAD_H

#include "base/fields.h"
#include "pt2/program.h"

struct pt2_head {
    const char *weight,
        *bias;         /* names of values; weight is NULL if there is no such layer,
                                * so that the classes cannot be changed; bias may be */
    const char *layer; /* a name of layer_len bytes */
    int layer_len;
    int64_t classes; /* of the archive */
};

/* Returns the last linear layer or convolution of an output. */
struct pt2_head pt2_head_of(const struct pt2_program *p, const struct pt2_output *out);

/*
 * Returns the layers of these names, in an array that lives as long as p; or NULL with a
 * reason. A layer that only the evaluation graph `eval` reads (pt2/pair.h; else p itself)
 * counts, too.
 */
const struct pt2_head *pt2_heads_named(struct pt2_program *p,
                                       const struct pt2_program *eval,
                                       const struct str_list *names, struct strbuf *why);

/* Appends the names of the layers of p that have a row for each class, "head, head_dist".
 * Returns how many there are. */
int pt2_heads_list(const struct pt2_program *p, struct strbuf *text);

#endif
