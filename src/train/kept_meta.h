/*
 * The metadata of a checkpoint that all files made from it keep: exported weights, means of
 * checkpoints, 8-bit models.
 */
#ifndef TRAIN_KEPT_META_H
#define TRAIN_KEPT_META_H

#include "io/safetensors.h"
#include "io/weights_file.h"
#include "models/table.h"

/* Keys with the graph, and evaluation graph, of a model that was read from a file
 * (models/table.h). */
#define KEPT_META_GRAPH      "graph"
#define KEPT_META_GRAPH_EVAL "graph_eval"

/* Copies the class names, the class weights, and the graphs. */
void kept_meta_copy(struct safetensors_writer *w, const struct weights_file *src);

/* Adds the graphs of a model, if it has any. */
void kept_meta_add_graphs(struct safetensors_writer *w, const struct model *m);

#endif
