#include "train/kept_meta.h"

void kept_meta_copy(struct safetensors_writer *w, const struct weights_file *src)
{
    static const char *const keys[] = {"classes", "class_weights", KEPT_META_GRAPH,
                                       KEPT_META_GRAPH_EVAL};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (weights_file_meta(src, keys[i]))
            safetensors_writer_meta(w, keys[i], weights_file_meta(src, keys[i]));
}

void kept_meta_add_graphs(struct safetensors_writer *w, const struct model *m)
{
    if (m->graph)
        safetensors_writer_meta(w, KEPT_META_GRAPH, m->graph);
    if (m->graph_eval)
        safetensors_writer_meta(w, KEPT_META_GRAPH_EVAL, m->graph_eval);
}
