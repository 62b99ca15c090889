/*
 * From an exported program to nodes of a graph. Each node of the program is mapped by a row
 * of pt2/table.c. A mapping consumes every argument of its node; what it does not
 * understand stops the import with one line that names the node, its module, the operator,
 * and the reason.
 *
 *   struct pt2_job job = {.program = p, .training = p, .classes = 10, .aux = true};
 *   struct pt2_results r;
 *   ok = pt2_import(&b, &job, images, &r, &why);       false: refused
 *
 * Weights keep their names in the state dict. Those that no node reads are in the graph,
 * too, and are not trained.
 */
#ifndef PT2_IMPORT_H
#define PT2_IMPORT_H

#include "models/stages.h"
#include "pt2/head.h"
#include "pt2/program.h"
#include "pt2/value.h"

struct pt2_job {
    const struct pt2_program *program;
    /* The program whose weights the graph gets: the same, or if `program` is an evaluation
     * graph (pt2/pair.h) that of training. */
    const struct pt2_program *training;
    /* With another number than the archive's, the weights of the heads get that many rows. */
    int64_t classes;
    const struct pt2_head *named; /* the heads, of `training`; NULL: found by use */
    int nnamed;
    bool aux; /* also the logits of auxiliary outputs */
};

struct pt2_results {
    struct tensor *logits; /* [N,classes], or an image */
    struct tensor
        *features; /* the last image of more than one pixel before them, or NULL */
    struct tensor *aux[MODEL_AUX]; /* like the logits, but images may have other sizes */
    int naux;
};

/* Adds the nodes of a program for images x. Returns false with a reason. */
bool pt2_import(struct builder *b, const struct pt2_job *job, struct tensor *x,
                struct pt2_results *r, struct strbuf *why);

/* ---- for the mappings ---- */

struct pt2_import {
    struct builder *b;
    const struct pt2_program *p;
    struct pt2_head head, aux[MODEL_AUX]; /* of the logits, of auxiliary outputs */
    int naux;
    const struct pt2_head *named; /* the heads instead, or NULL */
    int nnamed;
    int64_t classes;
    bool evaluation;             /* p is the evaluation graph of another program */
    struct strmap value;         /* name -> struct pt2_value */
    struct strmap reads;         /* name -> index of the last node that reads it, int */
    struct strmap layers;        /* names of layers that exist */
    struct strmap main;          /* values that the logits depend on; empty: all */
    const struct pt2_node *node; /* that is being mapped */
    int index;                   /* index of `node` */
    uint64_t used;               /* bits of its arguments */
    struct strbuf *why;          /* not empty: refused */
    int memories, weights;       /* memories up to `weights` are those of weights */
    struct tensor *features;     /* the last image of more than one pixel */
};

/* Notes which nodes of c->p read which values. True if any does. */
void pt2_note_reads(struct pt2_import *c);
bool pt2_is_read(const struct pt2_import *c, const char *value);
/* True if a later node reads the value, or it is the output. */
bool pt2_is_read_later(const struct pt2_import *c, const char *value);

/* After the current node has written its first argument `before` in place: all names of that
 * memory get the new elements. */
void pt2_written(struct pt2_import *c, const struct pt2_value *before);

/* Refuses the current node; keeps the first reason. */
__attribute__((format(printf, 2, 3))) void pt2_refuse(struct pt2_import *c,
                                                      const char *fmt, ...);

/* Returns what a refusal of other classes adds: how to name the layers that compute the
 * logits; "" if there are none. */
const char *pt2_name_heads(struct pt2_import *c);

/* Returns the name of the layer for what the current node computes: its module's, made
 * unique. */
const char *pt2_layer(struct pt2_import *c);

/*
 * Arguments of the current node by name. Each call consumes the argument. If it is missing
 * or of another kind, pt2_tensor and pt2_int refuse the node; the others return the
 * default. Results are valid, if meaningless, after a refusal.
 */
struct pt2_value *pt2_tensor(struct pt2_import *c, const char *name);
/* Returns a tensor or a constant as it is; pt2_tensor makes a tensor of a constant. */
struct pt2_value *pt2_any(struct pt2_import *c, const char *name);
struct pt2_value *pt2_any_or_mask(struct pt2_import *c, const char *name);
/* The same, which may also be a mask or an empty tensor (pt2/value.h). */
struct pt2_value *pt2_tensor_or_mask(struct pt2_import *c, const char *name);
bool pt2_is_tensor(struct pt2_import *c, const char *name);
/* Returns NULL if the argument is missing, None, or no tensor, which is not consumed. */
struct pt2_value *pt2_optional(struct pt2_import *c, const char *name);
int64_t pt2_int(struct pt2_import *c, const char *name, int64_t otherwise);
/* An integer from 0 to PT2_MOST: a number of channels, rows, or the like. */
enum { PT2_MOST = 1 << 20 };
int pt2_count(struct pt2_import *c, const char *name, int otherwise);
double pt2_number(struct pt2_import *c, const char *name, double otherwise);
bool pt2_flag(struct pt2_import *c, const char *name, bool otherwise);
const char *pt2_text(struct pt2_import *c, const char *name, const char *otherwise);
/* Gets a list of integers, of at most PT2_DIMS. Returns their number; 0 if the argument is
 * missing or None. */
int pt2_ints(struct pt2_import *c, const char *name, int64_t dst[PT2_DIMS]);
/* Gets one or two integers as a pair. Returns false if the argument is missing or empty. */
bool pt2_pair(struct pt2_import *c, const char *name, int dst[2]);
/* Gets a list of tensors; the array lives as long as the graph. */
struct pt2_value **pt2_tensors(struct pt2_import *c, const char *name, int *n);
/* Gets a list of constants. */
struct pt2_value **pt2_constants(struct pt2_import *c, const char *name, int *n);
/* Returns an argument as it is, and consumes it; NULL if it is missing or None. */
const struct pt2_arg *pt2_argument(struct pt2_import *c, const char *name);
/* Consumes an argument that does not matter for values: a device, a memory format. */
void pt2_ignore(struct pt2_import *c, const char *name);
/* True if the node has the argument, and it is not None. */
bool pt2_has(const struct pt2_import *c, const char *name);
/* Returns the dim that an index, which may be negative, means; refuses others. */
int pt2_dim(struct pt2_import *c, int64_t dim, int ndim);

/* Keeps a value under its name. Returns the copy that the import keeps. */
struct pt2_value *pt2_keep(struct pt2_import *c, const char *name, struct pt2_value v);

/* Sets the only result of the current node: v, which may share memory with `src`. */
void pt2_result(struct pt2_import *c, struct pt2_value v);
void pt2_result_view(struct pt2_import *c, const struct pt2_value *src,
                     struct pt2_value v);
/* Sets a result that is a tensor of the graph with its own dims. */
void pt2_result_tensor(struct pt2_import *c, struct tensor *t);
void pt2_result_number(struct pt2_import *c, int64_t number);
/* Sets a result that is a list of views of `src`; copies the items. */
void pt2_result_list(struct pt2_import *c, const struct pt2_value *src,
                     const struct pt2_value *item, int n);

#endif
