/*
 * Shared by Swin v1, v2, and Swin-MLP (Liu et al. 2021, arXiv 2103.14030 and 2111.09883):
 * patches, stages of blocks with patch merging before each stage but the first, a layer
 * norm, the mean over all tokens, a linear classifier. A family defines its blocks and
 * its merging.
 *
 * Parameters have timm's names and are created in the order of timm's state dict;
 * Swin-MLP, which timm lacks, follows the same rules. MODEL.DROP_RATE is that of
 * Microsoft's code: after the patches, after each block's token mixing, and twice in each
 * MLP, but not before the classifier. Every block is a checkpoint scope.
 */
#ifndef MODELS_SWIN_NET_H
#define MODELS_SWIN_NET_H

#include "graph/graph.h"
#include "models/table.h"

enum { SWIN_STAGES = 8 }; /* maximum */

/* The keys of MODEL.SWIN, MODEL.SWINV2, and MODEL.SWIN_MLP; each has some of them. Those of
 * MODEL.SWIN_MOE start with these. */
struct swin_options {
    int64_t patch_size, in_chans, embed_dim;
    struct int_list depths, num_heads;
    int64_t window_size;
    double mlp_ratio;
    bool qkv_bias, ape, patch_norm;
    struct float_opt qk_scale;
    struct int_list pretrained_window_sizes;
};

/* A net under construction. */
struct swin {
    struct builder *b;
    const struct swin_options *o;
    const struct model_options *common;
    const struct swin_kind *kind;
    int init; /* enum init_rule of linear layers */
    int block, nblock;
};

/* A block and its windows, which are clipped to the sides of a smaller map. */
struct swin_block {
    const char *name;        /* "layers.1.blocks.0" */
    int stage, index, heads; /* block `index` of stage `stage`, from 0 */
    int window_h, window_w, shift_h, shift_w;
    bool padded; /* the map is not whole windows */
};

struct swin_kind {
    /* Mixes tokens within windows; the parameters are below `name`. */
    struct tensor *(*mix)(struct swin *s, struct tensor *x,
                          const struct swin_block *block);
    /* The MLP below "NAME.mlp"; NULL: swin_dense_mlp() with a bias. */
    struct tensor *(*mlp)(struct swin *s, struct tensor *x,
                          const struct swin_block *block);
    /* Norms come last in branches (weights start at 0) and after the reduction of a patch
     * merging, as in SwinV2. */
    bool norm_last;
    bool whole;         /* maps must be whole windows and, before a merging, have even
                         * sides */
    const char *prefix; /* prefix of its keys: "MODEL.SWIN" */
};

/* For model_family.build: x is an image batch [N, C, H, W]; returns logits [N, classes].
 * Uses the family's options in `common`, or the model's own (`arch`) if there are none. */
struct tensor *swin_net(struct builder *b, const struct swin_kind *kind, const void *arch,
                        const struct model_options *common, struct tensor *x);

/* For model_family.check. */
const char *const *swin_check(const struct swin_kind *kind, const struct model *m,
                              const struct model_options *common, int height, int width,
                              struct strbuf *why);

/* Rows of a family's table of keys; `p` is its prefix. */
#define SWIN_OPTIONS(p)                                                                  \
    OPTION(p ".PATCH_SIZE", struct swin_options, patch_size),                            \
        OPTION(p ".IN_CHANS", struct swin_options, in_chans),                            \
        OPTION(p ".EMBED_DIM", struct swin_options, embed_dim),                          \
        OPTION(p ".DEPTHS", struct swin_options, depths),                                \
        OPTION(p ".NUM_HEADS", struct swin_options, num_heads),                          \
        OPTION(p ".WINDOW_SIZE", struct swin_options, window_size),                      \
        OPTION(p ".MLP_RATIO", struct swin_options, mlp_ratio),                          \
        OPTION(p ".APE", struct swin_options, ape),                                      \
        OPTION(p ".PATCH_NORM", struct swin_options, patch_norm)

/* A model's arch: SWIN_ARCH(SWIN_T, 7), a size and its window, then other values that
 * differ from the defaults. */
#define SWIN_T 96, (2, 2, 6, 2), (3, 6, 12, 24)
#define SWIN_S 96, (2, 2, 18, 2), (3, 6, 12, 24)
#define SWIN_B 128, (2, 2, 18, 2), (4, 8, 16, 32)
#define SWIN_L 192, (2, 2, 18, 2), (6, 12, 24, 48)
#define SWIN_LIST(...)                                                                   \
    {                                                                                    \
        (const int64_t[]){__VA_ARGS__}, 4                                                \
    }
#define SWIN_ARCH(...) SWIN_ARCH_(__VA_ARGS__)
#define SWIN_ARCH_(dim, depth, head, ...)                                                \
    .arch = &(const struct swin_options)                                                 \
    {                                                                                    \
        .patch_size = 4, .in_chans = 3, .embed_dim = (dim), .depths = SWIN_LIST depth,   \
        .num_heads = SWIN_LIST head, .mlp_ratio = 4, .qkv_bias = true,                   \
        .patch_norm = true, .window_size = __VA_ARGS__                                   \
    }

/* Members of model_family. Microsoft's files have the mergings at the end of the previous
 * stage, the classifier as "head", and buffers of windows. */
extern const char *const swin_reads[], *const swin_no_decay[], *const swin_computed[];
extern const struct layer_rule swin_layers[], swin_layers_simmim[];
extern const struct model_grid swin_grids[];

/* For model_family.custom_keys. */
#define SWIN_CUSTOM_KEYS(p)                                                              \
    p ".EMBED_DIM", p ".DEPTHS", p ".NUM_HEADS", p ".WINDOW_SIZE", NULL

/* Returns "prefix.suffix"; lives as long as the graph. */
const char *swin_name(const struct swin *s, const char *prefix, const char *suffix);

/* The attention of v1, with biases from a table [(2 window_h - 1)(2 window_w - 1), heads]. */
struct tensor *swin_attention(struct swin *s, struct tensor *x,
                              const struct swin_block *block, struct tensor *table);

/* v2's table of a block, below "NAME.attn.cpb_mlp"; `raw`: without its sigmoid. */
struct tensor *swin_cpb_table(struct swin *s, const struct swin_block *block, bool raw);

/* Two linear layers below "BLOCK.mlp", the second one with a bias if `fc2_bias`. */
struct tensor *swin_dense_mlp(struct swin *s, struct tensor *x, const char *block,
                              bool fc2_bias);

/* Returns the bias of the layer that made x, or NULL. */
struct tensor *swin_bias_of(const struct tensor *x);

#endif
