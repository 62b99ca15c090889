#include "cuda/cudnn_run.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/cudnn_lib.h"

void cudnn_plan_free(struct cudnn *c, struct cudnn_plan *p)
{
    if (p->desc)
        (void)c->BackendDestroyDescriptor(p->desc);
    if (p->own_workspace)
        CUDA_CHECK(c->dev, cudaFree(p->own_workspace));
    free(p->key);
    free(p->why);
    free(p);
}

void cudnn_pack_release(struct cudnn_pack *pack)
{
    if (pack->desc)
        (void)pack->c->BackendDestroyDescriptor(pack->desc);
    *pack = (struct cudnn_pack){0};
}

static void make_pack(struct cudnn *c, const struct cudnn_plan *p,
                      struct cudnn_pack *pack, void *const *pointer, void *workspace)
{
    struct cudnn_pool pool = {.c = c};
    cudnnBackendDescriptor_t d = cudnn_new(&pool, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

    cudnn_pack_release(pack);
    pack->c = c;
    pack->workspace = workspace;
    memcpy(pack->pointer, pointer, (size_t)p->nuid * sizeof(*pointer));
    cudnn_set(&pool, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, p->nuid,
              p->uid);
    cudnn_set(&pool, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
              p->nuid, pack->pointer);
    cudnn_set(&pool, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
              &pack->workspace);
    if (!cudnn_finalize(&pool, d, "variant pack"))
        cuda_fail(c->dev, "cuDNN", pool.message, NULL, NULL);
    pack->desc = d;
    pool.n = 0; /* owned by the pack now */
    cudnn_pool_release(&pool);
}

static bool pack_fits(const struct cudnn_plan *p, const struct cudnn_pack *pack,
                      void *const *pointer, const void *workspace)
{
    return pack->desc && pack->workspace == workspace &&
           !memcmp(pack->pointer, pointer, (size_t)p->nuid * sizeof(*pointer));
}

int cudnn_plan_try(struct cudnn *c, const struct cudnn_plan *p, struct cudnn_pack *pack,
                   void *const *pointer, void *workspace)
{
    bool was = alloc_forbid(false); /* the library allocates here */
    cudnnStatus_t status;

    if (!p->desc)
        BUG("a plan that was only asked for is run");
    if (!pack_fits(p, pack, pointer, workspace))
        make_pack(c, p, pack, pointer, workspace);
    status = c->BackendExecute(c->handle, p->desc, pack->desc);
    (void)alloc_forbid(was);
    return (int)status;
}
