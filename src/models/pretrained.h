/*
 * The public weights that the models' tags name: where they are, how their images are
 * prepared, what they may be used for and how good they are. The table is made from
 * timm's registry by scripts/pretrained_table.py.
 */
#ifndef MODELS_PRETRAINED_H
#define MODELS_PRETRAINED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct pretrained {
    const char *name;    /* architecture.tag; in the hub timm/NAME; NULL ends the table */
    const char *url;     /* of another file with the same weights; "": none */
    const char *licence; /* "": not said */
    int size;            /* of the images, pixels */
    double crop_pct;
    int classes; /* 0: no classifier */
    double mean[3], std[3];
    bool bilinear;     /* else bicubic */
    bool squash;       /* images are stretched, not cropped */
    double top1, top5; /* percent, ImageNet-1k; 0: not known */
};

extern const struct pretrained pretrained_table[];

/* Names of old, under which timm's users still find weights: tv_resnet50. */
struct pretrained_renamed {
    const char *old, *name; /* NULL ends the table */
};

extern const struct pretrained_renamed pretrained_renamed_table[];

/* What MODEL.PRETRAINED asks for. */
struct pretrained_request {
    const struct pretrained *row; /* NULL: none of the table */
    const char *hub; /* OWNER/NAME of another repository of the hub; NULL: none */
    int hub_len;
    const char *revision; /* of the hub; NULL: main */
    const char *dir;      /* a folder of weights; NULL: none */
};

#define PRETRAINED_AUTO "auto" /* the weights of MODEL.NAME: of its tag, or the default */

/*
 * "auto", a name with or without tag, "timm/NAME", "hf-hub:OWNER/NAME[@REVISION]",
 * "local-dir:FOLDER", or the name of a release's file. False: it is none of these;
 * without a reason in `why` it is the path of a file. `model` is MODEL.NAME; texts stay
 * the caller's.
 */
bool pretrained_parse(const char *text, const char *model, struct pretrained_request *r,
                      struct strbuf *why);

/* What a name of old is called now: architecture.tag; another name is itself. */
const char *pretrained_now(const char *name);
/* " (did you mean ...?; 'trainc models --pretrained' lists names)" of a text that is
 * neither a file nor a name; of what looks like a path or a file, nothing. */
void pretrained_suggest(const char *text, struct strbuf *why);

/* NULL: none. "resnet50" is the default tag's; a name of old is that of today. */
const struct pretrained *pretrained_find(const char *name, size_t len);

#endif
