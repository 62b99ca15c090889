/*
 * An exported program: the graph and the signature of an archive of torch.export.save, as
 * plain structs. The format is that of torch/_export/serde/schema.py, version 8, which
 * PyTorch 2.6 to 2.15 write in archives of three kinds (io/pt2_file.h).
 *
 *   struct pt2_program *p = pt2_program_read("net.pt2", &why);
 *   struct pt2_program *p = pt2_program_parse(text, len, &why);       of a checkpoint
 *   pt2_program_free(p);
 *
 * Both return NULL and append a reason on errors. Everything that a program consists of is
 * checked to be there and of the right type; what the nodes mean is checked by the import
 * (pt2/import.h).
 */
#ifndef PT2_PROGRAM_H
#define PT2_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/strmap.h"

enum { PT2_DIMS = 8 };

/* dtypes, numbered as torch.ScalarType in the schema */
enum {
    PT2_U8 = 1,
    PT2_I32 = 4,
    PT2_I64 = 5,
    PT2_F16 = 6,
    PT2_F32 = 7,
    PT2_F64 = 8,
    PT2_BOOL = 12,
    PT2_BF16 = 13
};

/* True for integers and booleans. */
static inline bool pt2_is_integer(int dtype)
{
    return (dtype >= PT2_U8 && dtype <= PT2_I64) || dtype == PT2_BOOL;
}

/* A number, or the name of a symbolic one. */
struct pt2_int {
    int64_t value;
    const char *name; /* NULL: `value` */
};

enum pt2_kind {
    PT2_NONE,
    PT2_TENSOR,  /* name */
    PT2_TENSORS, /* a list of names, some of which may be NULL */
    PT2_INT,     /* one number, which may be symbolic */
    PT2_INTS,
    PT2_FLOAT,
    PT2_FLOATS,
    PT2_FLAG,
    PT2_TEXT,
    PT2_OTHER /* anything else, such as a device; .name is the tag */
};

struct pt2_arg {
    enum pt2_kind kind;
    int n; /* of lists */
    union {
        const char *name;
        const char **names;
        struct pt2_int *ints; /* of PT2_INT, too */
        double number, *floats;
        bool flag;
    };
};

struct pt2_input {
    const char *name; /* of the operator's argument */
    struct pt2_arg arg;
};

struct pt2_node {
    const char *target; /* "aten.conv2d.default" */
    const char *name;
    const char *module; /* "layer1.0.conv1"; "" if unknown */
    int nin, nout;
    struct pt2_input *in;
    struct pt2_arg *out; /* PT2_TENSOR, PT2_TENSORS, PT2_INT (with a name), or PT2_NONE */
};

/* What the exporter knew of a value. */
struct pt2_meta {
    int dtype, ndim;
    int64_t dim[PT2_DIMS]; /* -1: symbolic */
    bool requires_grad;
};

enum pt2_weight_kind { PT2_PARAMETER, PT2_BUFFER, PT2_CONSTANT };

/* A parameter or persistent buffer, with its name in the state dict; or a constant. */
struct pt2_weight {
    enum pt2_weight_kind kind;
    const char *value, *name;
    const char *tied; /* name of an earlier weight that is the same memory, or NULL */
    const struct pt2_meta *meta;
};

/* The numbers of a constant (pt2/lifted.h), row-major. */
struct pt2_lifted {
    int64_t len;
    double *data;
};

/* How its images are prepared: those of the archive (pt2/images.h), or timm's defaults. */
struct pt2_images {
    double mean[3], std[3], crop_pct;
    bool bilinear; /* otherwise bicubic */
};

/* An output: what the module calls it ("out", "1"), and its value. */
struct pt2_output {
    const char *name, *value;
    const struct pt2_meta *meta;
};

struct pt2_program {
    struct arena mem;
    const char *torch; /* version that wrote it */
    const char *path;  /* of the archive, as the user gave it */
    struct pt2_weight *weight;
    int nweight;
    const char *input; /* the images */
    const struct pt2_meta *input_meta;
    struct pt2_images images;
    struct pt2_output output; /* the logits */
    struct pt2_output *aux;   /* the other outputs */
    int naux;
    struct pt2_node *node;
    int nnode;
    struct strmap meta;   /* value -> struct pt2_meta */
    struct strmap lifted; /* value -> struct pt2_lifted */
    char *text; /* the program as JSON without what is not needed, for checkpoints */
};

struct pt2_program *pt2_program_read(const char *path, struct strbuf *why);
struct pt2_program *pt2_program_parse(const char *text, size_t len, struct strbuf *why);
void pt2_program_free(struct pt2_program *p);

/* Returns NULL if the program does not describe a value of that name. */
const struct pt2_meta *pt2_program_meta(const struct pt2_program *p, const char *value);

/* Returns the parameter or buffer of that name in the state dict, or NULL. `hint`: about
 * where it is in p->weight, from where it is searched. */
const struct pt2_weight *pt2_weight_named(const struct pt2_program *p, const char *name,
                                          int hint);

#endif
