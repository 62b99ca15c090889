/*
 * The outputs of an exported program. The first one, or the one that the module calls "out" or
 * "logits", has the logits; the others are auxiliary. Outputs that are None are left out. The
 * names of the members of a tuple, list, or dict, "0", "aux", "deep.1", become part of the
 * program's text:
 *
 *   "outputs": ["out", "aux"]
 */
#ifndef PT2_OUTPUTS_H
#define PT2_OUTPUTS_H

#include "pt2/parser.h"

/* Adds "outputs" to the JSON of an archive's program. */
void pt2_outputs_embed(json_t *root);

/* Sets the outputs of c->p from the signature's. p->meta must be known. Returns false with a
 * reason. */
bool pt2_outputs_parse(struct pt2_parser *c, json_t *root, const json_t *specs);

/* Appends dims: "[N, 10, 64, 64]". */
void pt2_add_dims(struct strbuf *text, const struct pt2_meta *m);

/* Adds to `values` all values from which `output` is computed, weights included. */
void pt2_outputs_reach(const struct pt2_program *p, const char *output,
                       struct strmap *values);

#endif
