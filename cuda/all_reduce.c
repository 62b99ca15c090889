/*
 * Collectives of a training step, run by NCCL on its own lanes: all_reduce, all_gather, and
 * buckets of gradients on one, the statistics of synchronized batch norms and the rows of
 * experts on the other. The main stream
 * waits for the buckets only when the update begins.
 */
#include "ops/all_reduce.h"

#include <cuda_runtime_api.h>

#include "cuda/cast.h"
#include "cuda/kernels.h"
#include "cuda/nccl.h"
#include "ops/all_to_all.h"
#include "ops/batchnorm_parts.h"
#include "ops/bucket.h"

static const char *claim_alone(struct region *r, struct node *n, const struct op *op)
{
    if (n->op != op)
        return "not this exchange";
    region_claim_node(r, n);
    return NULL;
}

static const char *all_reduce_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g;
    (void)dev;
    return claim_alone(r, n, &op_all_reduce);
}

static void all_reduce_run(struct step *s, struct device *dev)
{
    const struct all_reduce_attrs *a = s->node->attrs;

    nccl_reduce(dev, a->group, s->out[0], tensor_len(s->out_tensor[0]), NCCL_FP32,
                NCCL_AVG);
}

const struct kernel cuda_all_reduce = {
    .name = "cuda all_reduce",
    .claim = all_reduce_claim,
    .run = all_reduce_run,
};

static const char *all_gather_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g;
    (void)dev;
    return claim_alone(r, n, &op_all_gather);
}

static void all_gather_run(struct step *s, struct device *dev)
{
    const struct all_gather_attrs *a = s->node->attrs;

    nccl_start_gather(dev, a->group, s->out[0], a->begin);
    nccl_join(dev);
}

const struct kernel cuda_all_gather = {
    .name = "cuda all_gather",
    .claim = all_gather_claim,
    .run = all_gather_run,
};

static const char *sync_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g;
    (void)dev;
    return claim_alone(r, n, &op_batchnorm_sync);
}

static void sync_run(struct step *s, struct device *dev)
{
    const struct batchnorm_sync_attrs *a = s->node->attrs;

    for (int i = 0; i < s->nout; i++)
        if (s->out[i])
            nccl_start_small(dev, a->group, s->in[i], s->out[i],
                             tensor_len(s->out_tensor[i]), NCCL_FP32, NCCL_AVG);
    nccl_join_small(dev);
}

const struct kernel cuda_batchnorm_sync = {
    .name = "cuda batchnorm_sync",
    .claim = sync_claim,
    .run = sync_run,
};

static const char *all_to_all_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    (void)g;
    (void)dev;
    if (n->op == &op_all_to_all && n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all rows";
    return claim_alone(r, n, &op_all_to_all);
}

static void all_to_all_run(struct step *s, struct device *dev)
{
    const struct all_to_all_attrs *a = s->node->attrs;
    struct exchange e = all_to_all_exchange(a, s->out_tensor[0]);

    nccl_start_exchange(dev, a->group, &e, s->in[0], s->out[0], s->out_tensor[0]->dtype);
    nccl_join_small(dev);
}

const struct kernel cuda_all_to_all = {
    .name = "cuda all_to_all",
    .claim = all_to_all_claim,
    .run = all_to_all_run,
};

/* ---- buckets ---- */

/* Layout of a message: 16-bit floats first, then the others, aligned to 64 bytes. */
static float *wide_part(const struct bucket_attrs *a, void *travels)
{
    return (float *)(void *)((char *)travels + (a->nhalf * 2 + 63) / 64 * 64);
}

/* Copies a part of the bucket into the message, or back. */
static void copy_runs(struct device *dev, const struct bucket_attrs *a, float *x,
                      void *travels, struct bucket_part p, bool back)
{
    enum dtype type = (enum dtype)a->dtype;
    uint16_t *half = (uint16_t *)travels + bucket_half(a, p.begin);
    float *wide = wide_part(a, travels) + (p.begin - bucket_half(a, p.begin));

    for (int i = 0; i < a->nrun; i++) {
        const struct bucket_run *r = &a->run[i];
        int64_t begin = r->offset > p.begin ? r->offset : p.begin;
        int64_t end = r->offset + r->len < p.end ? r->offset + r->len : p.end;
        float *part = x + begin;

        if (begin >= end)
            continue;
        if (r->half && back)
            cuda_cast(dev, part, DTYPE_F32, half, type, end - begin);
        else if (r->half)
            cuda_cast(dev, half, type, part, DTYPE_F32, end - begin);
        else
            CUDA_CHECK(dev, cudaMemcpyAsync(back ? part : wide, back ? wide : part,
                                            (size_t)(end - begin) * sizeof(float),
                                            cudaMemcpyDeviceToDevice, dev->stream));
        half += r->half ? end - begin : 0;
        wide += r->half ? 0 : end - begin;
    }
}

static void start(struct device *dev, const struct bucket_attrs *a, void *x, int64_t n,
                  int type, int rank)
{
    if (n && a->begin)
        nccl_start_to(dev, a->group, x, n, type, NCCL_AVG, rank);
    else if (n)
        nccl_start(dev, a->group, x, x, n, type, NCCL_AVG);
}

/* Sends floats [p.from, p.to) to rank `stop`. */
static void start_part(struct device *dev, const struct bucket_attrs *a,
                       const struct step *s, struct bucket_part p, int stop)
{
    int64_t half = bucket_half(a, p.begin), end = bucket_half(a, p.end);

    if (!a->run) {
        start(dev, a, (float *)s->out[0] + p.begin, p.end - p.begin, NCCL_FP32, stop);
        return;
    }
    start(dev, a, (uint16_t *)s->out[1] + half, end - half,
          nccl_type((enum dtype)a->dtype), stop);
    start(dev, a, wide_part(a, s->out[1]) + (p.begin - half),
          p.end - p.begin - (end - half), NCCL_FP32, stop);
}

static const char *bucket_start_claim(struct region *r, struct graph *g, struct node *n,
                                      struct device *dev)
{
    (void)g;
    (void)dev;
    return claim_alone(r, n, &op_bucket_start);
}

static void bucket_start_run(struct step *s, struct device *dev)
{
    const struct bucket_attrs *a = s->node->attrs;
    int64_t len = tensor_len(s->out_tensor[0]);

    if (a->local)
        return;
    if (a->run)
        copy_runs(dev, a, s->out[0], s->out[1], (struct bucket_part){0, len}, false);
    for (int r = 0; r < (a->begin ? a->group->world : 1); r++)
        start_part(dev, a, s, bucket_part(a, len, r), r);
}

const struct kernel cuda_bucket_start = {
    .name = "cuda bucket_start",
    .claim = bucket_start_claim,
    .run = bucket_start_run,
};

static const char *bucket_join_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    (void)g;
    (void)dev;
    return claim_alone(r, n, &op_bucket_join);
}

/* NCCL has already divided by the number of ranks, before it added. */
static void bucket_join_run(struct step *s, struct device *dev)
{
    const struct bucket_attrs *a = s->node->attrs;

    if (a->local) {
        cuda_scale(dev, s->out[0], tensor_len(s->out_tensor[0]),
                   1 / (float)a->group->world);
        return;
    }
    nccl_join(dev);
    if (a->run)
        copy_runs(dev, a, s->out[0], s->in[0],
                  bucket_part(a, tensor_len(s->out_tensor[0]), a->group->rank), true);
}

const struct kernel cuda_bucket_join = {
    .name = "cuda bucket_join",
    .claim = bucket_join_claim,
    .run = bucket_join_run,
};
