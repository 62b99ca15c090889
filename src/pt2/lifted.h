/*
 * The constants of a program: tensors of the archive that are no weights, and persistent
 * buffers of integers. Their numbers become part of the program's text, so that a
 * checkpoint has them:
 *
 *   "lifted": {VALUE: {"dims": [49, 49], "type": "u16", "data": "00002a00..."}}
 *
 * The text has the bytes of little-endian numbers of the smallest type that holds them all:
 * u16, f32, or f64.
 */
#ifndef PT2_LIFTED_H
#define PT2_LIFTED_H

#include "base/strbuf.h"
#include "io/json.h"
#include "pt2/program.h"

/* Adds "lifted" to the JSON of an archive's program. Returns false with a reason. */
bool pt2_lifted_embed(json_t *root, const char *path, struct strbuf *why);

/* Sets p->lifted from it. p->meta must be known. Returns NULL, or why it is refused. */
const char *pt2_lifted_parse(struct pt2_program *p, json_t *root);

#endif
