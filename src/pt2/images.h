/*
 * How the images of an archive are prepared: its extra file "input", which becomes part of the
 * program's text, so that a checkpoint has it:
 *
 *   "input": {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "crop_pct": 0.9,
 *             "interpolation": "bilinear"}
 */
#ifndef PT2_IMAGES_H
#define PT2_IMAGES_H

#include "io/json.h"
#include "io/pt2_file.h"
#include "pt2/program.h"

/* Adds "input" to the JSON of an archive's program, if the archive has it. Returns false with a
 * reason. */
bool pt2_images_embed(json_t *root, const struct pt2_file *file, struct strbuf *why);

/* Sets p->images from it; what it does not say has timm's defaults. Returns NULL, or why it is
 * refused. */
const char *pt2_images_parse(struct pt2_program *p, json_t *root);

#endif
