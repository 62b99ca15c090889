#include "train/schemes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define ROWS (const struct scheme_row[])
#define END                                                                              \
    {                                                                                    \
        NULL, NULL                                                                       \
    }

enum { NUMBERS = 8, PARTS = 3 };

/* Patch merging is at the end of a stage here, and at the start of the next one in
 * timm. */
static const struct scheme_row microsoft_swin[] = {
    {"^layers.6.downsample.", "layers.7.downsample."},
    {"^layers.5.downsample.", "layers.6.downsample."},
    {"^layers.4.downsample.", "layers.5.downsample."},
    {"^layers.3.downsample.", "layers.4.downsample."},
    {"^layers.2.downsample.", "layers.3.downsample."},
    {"^layers.1.downsample.", "layers.2.downsample."},
    {"^layers.0.downsample.", "layers.1.downsample."},
    {"^head.", "head.fc."},
    END,
};

#define TORCHVISION_SWIN                                                                 \
    {"^features.0.0.", "patch_embed.proj."}, {"^features.0.2.", "patch_embed.norm."},    \
        {"^features.1.#.", "layers.0.blocks.#."},                                        \
        {"^features.2.", "layers.1.downsample."},                                        \
        {"^features.3.#.", "layers.1.blocks.#."},                                        \
        {"^features.4.", "layers.2.downsample."},                                        \
        {"^features.5.#.", "layers.2.blocks.#."},                                        \
        {"^features.6.", "layers.3.downsample."},                                        \
        {"^features.7.#.", "layers.3.blocks.#."}, {".mlp.0.", ".mlp.fc1."},              \
        {".mlp.3.", ".mlp.fc2."},                                                        \
    {                                                                                    \
        "^head.", "head.fc."                                                             \
    }

static const struct scheme_row facebook_convnext[] = {
    {"^downsample_layers.0.", "stem."},
    {"^downsample_layers.#.#.", "stages.#.downsample.#."},
    {"^stages.#.#.", "stages.#.blocks.#."},
    {".dwconv.", ".conv_dw."},
    {".pwconv#.", ".mlp.fc#."},
    {"^head.", "head.fc."},
    {"^norm.", "head.norm."},
    END,
};

static const struct scheme_row torchvision_convnext[] = {
    {"^features.0.", "stem."},
    {"^features.1.#.", "stages.0.blocks.#."},
    {"^features.2.#.", "stages.1.downsample.#."},
    {"^features.3.#.", "stages.1.blocks.#."},
    {"^features.4.#.", "stages.2.downsample.#."},
    {"^features.5.#.", "stages.2.blocks.#."},
    {"^features.6.#.", "stages.3.downsample.#."},
    {"^features.7.#.", "stages.3.blocks.#."},
    {".layer_scale$", ".gamma"},
    {".block.0.", ".conv_dw."},
    {".block.2.", ".norm."},
    {".block.3.", ".mlp.fc1."},
    {".block.5.", ".mlp.fc2."},
    {"^classifier.0.", "head.norm."},
    {"^classifier.2.", "head.fc."},
    END,
};

static const struct scheme_row mmpretrain_convnext[] = {
    {"^backbone.downsample_layers.0.", "stem."},
    {"^backbone.downsample_layers.#.#.", "stages.#.downsample.#."},
    {"^backbone.stages.#.#.", "stages.#.blocks.#."},
    {".depthwise_conv.", ".conv_dw."},
    {".pointwise_conv#.", ".mlp.fc#."},
    {"^backbone.norm3.", "head.norm."},
    {"^head.fc.", "head.fc."},
    {"^decode_head.", NULL},
    {"^auxiliary_head.", NULL},
    END,
};

static const struct scheme_row torchvision_vit[] = {
    {"^class_token$", "cls_token"},
    {"^conv_proj.", "patch_embed.proj."},
    {"^encoder.pos_embedding$", "pos_embed"},
    {"^encoder.layers.encoder_layer_#.", "blocks.#."},
    {".ln_#.", ".norm#."},
    {".self_attention.in_proj_", ".attn.qkv."},
    {".self_attention.out_proj.", ".attn.proj."},
    {".mlp.0.", ".mlp.fc1."},
    {".mlp.3.", ".mlp.fc2."},
    {".mlp.linear_#.", ".mlp.fc#."}, /* before torchvision 0.13 */
    {"^encoder.ln.", "norm."},
    {"^heads.head.", "head."},
    END,
};

static const struct scheme_row mmpretrain_vit[] = {
    {"^backbone.patch_embed.projection.", "patch_embed.proj."},
    {"^backbone.layers.#.ln#.", "blocks.#.norm#."},
    {"^backbone.layers.#.ffn.layers.0.0.", "blocks.#.mlp.fc1."},
    {"^backbone.layers.#.ffn.layers.1.", "blocks.#.mlp.fc2."},
    {"^backbone.layers.", "blocks."},
    {"^backbone.ln1.", "norm."},
    {"^backbone.", ""},
    {"^head.layers.head.", "head."},
    {"^head.layers.head_dist.", "head_dist."},
    END,
};

#define OPENMMLAB_RESNET                                                                 \
    {"^backbone.stem.0.conv.", "conv1.0."}, {"^backbone.stem.0.bn.", "conv1.1."},        \
        {"^backbone.stem.1.conv.", "conv1.3."}, {"^backbone.stem.1.bn.", "conv1.4."},    \
        {"^backbone.stem.2.conv.", "conv1.6."}, {"^backbone.stem.2.bn.", "bn1."},        \
        {"^backbone.", ""}, {".se_layer.conv#.conv.", ".se.fc#."}, {"^head.fc.", "fc."}, \
        {"^decode_head.", NULL},                                                         \
    {                                                                                    \
        "^auxiliary_head.", NULL                                                         \
    }

/* V1d has no pooling if the stride is 1. */
static const struct scheme_row mmpretrain_resnet_d[] = {
    {"^backbone.layer1.0.downsample.1.", "backbone.layer1.0.downsample.2."},
    {"^backbone.layer1.0.downsample.0.", "backbone.layer1.0.downsample.1."},
    OPENMMLAB_RESNET,
    END,
};

/* The vision tower of a CLIP model, built by timm, with or without the text tower. */
static const struct scheme_row open_clip_convnext[] = {
    {"^visual.", ""}, {"^trunk.", ""}, {"^head.proj.", "head.fc."}, END};
static const struct scheme_row open_clip_vit[] = {
    {"^visual.", ""}, {"^trunk.", ""}, {"^head.proj.", "head."}, END};

/* Drops the head of self-supervised training. */
static const struct scheme_row facebook_dino[] = {
    {"^backbone.", ""}, {"^head.", NULL}, END};

#define FOREIGN(n, f, m, r) .name = (n), .family = (f), .mark = (m), .row = (r)
#define REFUSED(f, m, why)                                                               \
    {                                                                                    \
        .name = "", .family = (f), .mark = (m), .refuse = (why)                          \
    }
#define NO_LN_PRE                                                                        \
    "it is CLIP's vision tower, which has a layer norm before its blocks; no model "     \
    "here has one"
#define NO_MEAN                                                                          \
    "its classifier reads the mean of all tokens, but here it reads the class token"
#define NO_GRN     "it is ConvNeXt V2, which normalizes responses (grn); no model here does"
#define NO_MERGING "it is OpenMMLab's Swin, which merges patches in another order"
#define NO_LAYER_SCALE                                                                   \
    "its blocks have a scale for each channel, as those of DINOv2 and DeiT III; no "     \
    "ViT here has one"

#define CLASS_TOKEN                                                                      \
    "its names do not tell whether its output is the class token's (timm_pool token), "  \
    "as here, or the mean's (avg, open_clip's default)"

const struct scheme schemes[] = {
    {FOREIGN("Microsoft", "swin", "layers.0.downsample.reduction.weight", microsoft_swin),
     .microsoft = true},
    {FOREIGN("Microsoft", "swinv2", "layers.0.downsample.reduction.weight",
             microsoft_swin),
     .microsoft = true},
    {FOREIGN("Microsoft", "swin_mlp", "layers.0.downsample.reduction.weight",
             microsoft_swin),
     .microsoft = true},
    {FOREIGN("torchvision", "swin", "features.1.0.attn.qkv.weight",
             (ROWS{TORCHVISION_SWIN, END}))},
    {FOREIGN("torchvision", "swinv2", "features.1.0.attn.logit_scale",
             (ROWS{TORCHVISION_SWIN, {".qkv.bias$", ".q_bias,,v_bias"}, END}))},
    REFUSED("swin", "attn.w_msa.qkv.weight", NO_MERGING),
    REFUSED("swinv2", "attn.w_msa.qkv.weight", NO_MERGING),
    REFUSED("convnext", "0.grn.gamma", NO_GRN),
    REFUSED("convnext", "0.mlp.grn.weight", NO_GRN),
    {FOREIGN("Facebook", "convnext", "downsample_layers.0.0.weight", facebook_convnext)},
    {FOREIGN("torchvision", "convnext", "features.1.0.layer_scale", torchvision_convnext),
     .cut_ones = true},
    {FOREIGN("OpenMMLab", "convnext", "backbone.stages.0.0.depthwise_conv.weight",
             mmpretrain_convnext)},
    {FOREIGN("open_clip", "convnext", "visual.trunk.stem.0.weight", open_clip_convnext),
     .only = "visual."},
    {FOREIGN("open_clip", "convnext", "trunk.stem.0.weight", open_clip_convnext)},
    REFUSED("vit", "ln_pre.weight", NO_LN_PRE),
    REFUSED("vit", "norm_pre.weight", NO_LN_PRE),       /* timm's name */
    REFUSED("vit", "pre_layrnorm.weight", NO_LN_PRE),   /* transformers' */
    REFUSED("vit", "fc_norm.weight", NO_MEAN),          /* MAE, fine-tuned */
    REFUSED("vit", "backbone.ln2.weight", NO_MEAN),     /* OpenMMLab's */
    REFUSED("vit", "0.ls1.gamma", NO_LAYER_SCALE),      /* DINOv2 */
    REFUSED("vit", "blocks.0.gamma_1", NO_LAYER_SCALE), /* DeiT III, BEiT */
    REFUSED("vit", "attn.gamma1.weight", NO_LAYER_SCALE),
    REFUSED(
        "vit", "attn_pool.latent",
        "it is SigLIP's vision tower, which has no class token and pools by attention; "
        "no model here does"),
    REFUSED(
        "vit", "head.0.running_mean",
        "its classifier has a batch norm of its own (a linear probe of MAE), and none "
        "here has one"),
    {FOREIGN("torchvision", "vit", "encoder.layers.encoder_layer_0.ln_1.weight",
             torchvision_vit)},
    {FOREIGN("OpenMMLab", "vit", "backbone.patch_embed.projection.weight",
             mmpretrain_vit)},
    {FOREIGN("open_clip", "vit", "visual.trunk.blocks.0.norm1.weight", open_clip_vit),
     .only = "visual.", .note = CLASS_TOKEN},
    {FOREIGN("open_clip", "vit", "trunk.blocks.0.norm1.weight", open_clip_vit),
     .note = CLASS_TOKEN},
    {FOREIGN("MAE", "vit", "decoder_embed.weight",
             (ROWS{{"^mask_token$", NULL}, {"^decoder_", NULL}, END}))},
    {FOREIGN("DINO", "vit", "head.last_layer.weight_v", facebook_dino)},
    {FOREIGN("DINO", "resnet", "head.last_layer.weight_v", facebook_dino)},
    REFUSED(
        "resnet", "attnpool.positional_embedding",
        "it is CLIP's ResNet, which has three convolutions at its start and attention "
        "at its end; no model here has"),
    {FOREIGN("OpenMMLab", "resnet", "backbone.layer1.0.conv1.weight",
             (ROWS{OPENMMLAB_RESNET, END}))},
    {FOREIGN("OpenMMLab", "resnet", "backbone.layer2.0.downsample.2.weight",
             mmpretrain_resnet_d)},
    {FOREIGN("CIFAR ResNets", "resnet", "linear.weight",
             (ROWS{{"^linear.", "fc."}, {".shortcut.", ".downsample."}, END}))},
    {.name = NULL},
};

/* Returns the end of the match of `from` at `s`, and adds the positions of its numbers.
 * Returns NULL if it does not match. */
static const char *match_here(const char *from, const char *s, const char **number,
                              int *n)
{
    for (; *from; from++) {
        size_t digits = strspn(s, "0123456789");

        if (*from == '$')
            return *s ? NULL : s;
        if (*from == '#') {
            if (!digits || *n >= NUMBERS)
                return NULL;
            number[(*n)++] = s;
            s += digits;
        } else if (*from == *s) {
            s++;
        } else {
            return NULL;
        }
    }
    return s;
}

/* Applies the row to `text` if it matches. */
static void apply_row(const struct scheme_row *row, struct strbuf *text)
{
    bool start = *row->from == '^';
    struct strbuf out = STRBUF_INIT;

    for (const char *s = text->buf; *s; s++) {
        const char *number[NUMBERS], *end;
        int n = 0, used = 0;

        end = match_here(row->from + start, s, number, &n);
        if (!end && start)
            break;
        if (!end)
            continue;
        strbuf_addf(&out, "%.*s", (int)(s - text->buf), text->buf);
        for (const char *to = row->to; *to; to++)
            if (*to == '#' && used < n) {
                strbuf_addf(&out, "%.*s", (int)strspn(number[used], "0123456789"),
                            number[used]);
                used++;
            } else {
                strbuf_addch(&out, *to);
            }
        strbuf_addstr(&out, end);
        strbuf_reset(text);
        strbuf_addstr(text, out.buf);
        break;
    }
    strbuf_release(&out);
}

static bool drops(const struct scheme_row *row, const char *name)
{
    bool start = *row->from == '^';
    const char *number[NUMBERS];

    for (const char *s = name; !row->to && *s; s++) {
        int n = 0;

        if (match_here(row->from + start, s, number, &n))
            return true;
        if (start)
            break;
    }
    return false;
}

/* Skips the prefixes of module wrappers. */
static const char *unwrapped(const char *name)
{
    static const char *const wrapper[] = {"module.", "_orig_mod.", "model.", "module."};

    for (int i = 0; i < 4; i++)
        if (!strncmp(name, wrapper[i], strlen(wrapper[i])))
            name += strlen(wrapper[i]);
    return name;
}

bool scheme_keeps(const struct scheme *s, const char *name)
{
    name = unwrapped(name);
    if (s->only && strncmp(name, s->only, strlen(s->only)) != 0)
        return false;
    for (const struct scheme_row *row = s->row; row->from; row++)
        if (drops(row, name))
            return false;
    return true;
}

static void add_item(struct scheme_names *names, struct scheme_item item,
                     const char *name, size_t len)
{
    if (!len)
        return;
    item.t.name = xasprintf("%.*s", (int)len, name);
    names->item[names->n++] = item;
}

static bool cuts_evenly(const struct safetensors_tensor *t, int parts)
{
    return t->ndim > 0 && t->dims[0] % parts == 0;
}

/* Adds the parts of a tensor: for "attn.q_bias,,v_bias", attn.q_bias and attn.v_bias, the
 * first and last of three parts. */
static void add_parts(struct scheme_names *names, struct scheme_item item,
                      const char *text)
{
    size_t first = strcspn(text, ","), stem = first;
    struct strbuf name = STRBUF_INIT;
    int parts = 1;

    while (stem && text[stem - 1] != '.')
        stem--;
    for (const char *c = strchr(text, ','); c; c = strchr(c + 1, ','))
        parts++;
    if (parts > 1 && cuts_evenly(&item.t, parts)) {
        item.t.dims[0] /= parts;
        item.t.size /= (uint64_t)parts;
    }
    add_item(names, item, text, first);
    text += first;
    for (int i = 1; i < parts; i++) {
        size_t len = strcspn(++text, ",");

        strbuf_reset(&name);
        if (len)
            strbuf_addf(&name, "%.*s%.*s", (int)stem, names->item[names->n - 1].t.name,
                        (int)len, text);
        item.t.offset = (uint64_t)i * item.t.size;
        add_item(names, item, name.buf, name.len);
        text += len;
    }
    strbuf_release(&name);
}

bool scheme_marks(const struct scheme *s, const struct safetensors_tensor *tensor,
                  size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(unwrapped(tensor[i].name), s->mark))
            return true;
        else if (s->refuse && strlen(tensor[i].name) > strlen(s->mark) &&
                 !strcmp(tensor[i].name + strlen(tensor[i].name) - strlen(s->mark),
                         s->mark))
            return true;
    return false;
}

void scheme_names_make(struct scheme_names *names, const struct scheme *s,
                       const struct safetensors_tensor *tensor, size_t n)
{
    struct strbuf text = STRBUF_INIT;

    names->item = xcalloc(n * PARTS + 1, sizeof(*names->item));
    for (size_t i = 0; i < n; i++) {
        struct scheme_item item;

        if (!scheme_keeps(s, tensor[i].name))
            continue;
        strbuf_reset(&text);
        strbuf_addstr(&text, unwrapped(tensor[i].name));
        for (const struct scheme_row *row = s->row; row->from; row++)
            if (row->to)
                apply_row(row, &text);
        item = (struct scheme_item){.t = tensor[i], .of = i};
        item.t.offset = 0;
        if (s->cut_ones && item.t.ndim == 3 && item.t.dims[1] == 1 && item.t.dims[2] == 1)
            item.t.ndim = 1;
        add_parts(names, item, text.buf);
    }
    for (size_t i = 0; i < names->n; i++)
        strmap_put(&names->index, names->item[i].t.name, &names->item[i]);
    strbuf_release(&text);
}

const struct safetensors_tensor *scheme_names_find(const struct scheme_names *names,
                                                   const char *name)
{
    const struct scheme_item *item = strmap_get(&names->index, name);

    return item ? &item->t : NULL;
}

void scheme_names_release(struct scheme_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->item[i].t.name);
    free(names->item);
    strmap_release(&names->index);
    *names = (struct scheme_names){0};
}
