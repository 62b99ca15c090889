/*
 * The public weights that the tags of models name: their location, image preparation,
 * license, and accuracy. The table is generated from timm's registry by
 * scripts/pretrained_table.py.
 */
#ifndef MODELS_PRETRAINED_H
#define MODELS_PRETRAINED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct pretrained {
    const char *name;    /* architecture.tag; in the hub timm/NAME; NULL ends the table */
    const char *url;     /* of another file with the same weights, or "" */
    const char *license; /* "" if unknown */
    int size;            /* of the images in pixels */
    double crop_pct;
    int classes; /* 0: no classifier */
    double mean[3], std[3];
    bool bilinear;     /* otherwise bicubic */
    bool squash;       /* images are stretched instead of cropped */
    double top1, top5; /* percent on ImageNet-1k; 0: unknown */
};

extern const struct pretrained pretrained_table[];

/* Deprecated names by which timm still finds weights: tv_resnet50. */
struct pretrained_renamed {
    const char *old, *name; /* NULL ends the table */
};

extern const struct pretrained_renamed pretrained_renamed_table[];

/* A parsed MODEL.PRETRAINED. */
struct pretrained_request {
    const struct pretrained *row; /* NULL if it is not in the table */
    const char *hub;              /* OWNER/NAME of another hub repository, or NULL */
    int hub_len;
    const char *revision; /* of the hub; NULL: main */
    const char *dir;      /* a folder of weights, or NULL */
};

#define PRETRAINED_AUTO "auto" /* the weights of MODEL.NAME: its tag's, or the default */

/*
 * Parses "auto", a name with or without tag, "timm/NAME", "hf-hub:OWNER/NAME[@REVISION]",
 * "local-dir:FOLDER", or the name of a release's file. Returns false for anything else;
 * if `why` stays empty, it is the path of a file. `model` is MODEL.NAME; strings stay the
 * caller's.
 */
bool pretrained_parse(const char *text, const char *model, struct pretrained_request *r,
                      struct strbuf *why);

/* Returns the current name (architecture.tag) of a deprecated name, or the name itself. */
const char *pretrained_now(const char *name);
/* Returns the name of the repository timm/NAME on the hub, which the caller frees. A model
 * "..._quickgelu_..." shares the repository of the model with the plain GELU. */
char *pretrained_repository(const struct pretrained *p);
/* Appends " (did you mean ...?; 'trainc models --pretrained' lists names)" for a text
 * that is neither a file nor a name; nothing for one that looks like a path or a file. */
void pretrained_suggest(const char *text, struct strbuf *why);

/* Returns NULL if there is none. "resnet50" means its default tag; deprecated names work,
 * too. */
const struct pretrained *pretrained_find(const char *name, size_t len);

#endif
