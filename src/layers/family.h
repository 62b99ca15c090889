/*
 * MODEL.LAYERS as a model of the family `layers` (models/table.h):
 *
 *   const struct model *m = layers_model(&source, name, channels);
 *
 * The same source gives the same model, which lives until the process ends. A network that
 * cannot be built is a model, too: its check() says why.
 */
#ifndef LAYERS_FAMILY_H
#define LAYERS_FAMILY_H

#include "layers/build.h"
#include "models/table.h"

/* name: MODEL.NAME; channels: of its images. Copies what it keeps. */
const struct model *layers_model(const struct layers_source *s, const char *name,
                                 int channels);

#endif
