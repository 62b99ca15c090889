/* MODEL.LAYERS of YAML as a model, for tests. */
#ifndef TESTS_LAYERS_YAML_NET_H
#define TESTS_LAYERS_YAML_NET_H

#include "config/cfgnode.h"
#include "layers/family.h"

/* Reads a file, or a text with a name; fails the test if it is no YAML. Free it. */
struct cfgnode *yaml_net_file(const char *path);
struct cfgnode *yaml_net_text(const char *text, const char *name);

/* Sets p of all dropouts to 0. */
void yaml_net_calm(struct cfgnode *tree);

/* The lists of the tree, which must live as long as the source. */
struct layers_source yaml_net_source(const struct cfgnode *tree);

#endif
