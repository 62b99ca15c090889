#include "base/alloc.h"
#include "cpu/onednn_internal.h"

struct onednn_pack {
    struct onednn *o;
    dnnl_primitive_t prim;
    dnnl_memory_t packed, plain;
    void *packed_at, *plain_at;
    dnnl_exec_arg_t arg[2];
};

struct onednn_pack *onednn_pack_new(struct onednn *o, const struct onednn_prim *p,
                                    enum onednn_packing d)
{
    struct onednn_pack *pack = xcalloc(1, sizeof(*pack));
    const struct md *src = d == ONEDNN_PACK ? &p->plain : &p->packed;
    const struct md *dst = d == ONEDNN_PACK ? &p->packed : &p->plain;
    dnnl_primitive_desc_t pd;

    pack->o = o;
    ONEDNN_CHECK(dnnl_memory_create(&pack->plain, MD(&p->plain), o->engine, NULL));
    ONEDNN_CHECK(dnnl_memory_create(&pack->packed, MD(&p->packed), o->engine, NULL));
    ONEDNN_CHECK(dnnl_reorder_primitive_desc_create(&pd, MD(src), o->engine, MD(dst),
                                                    o->engine, NULL));
    ONEDNN_CHECK(dnnl_primitive_create(&pack->prim, pd));
    ONEDNN_CHECK(dnnl_primitive_desc_destroy(pd));
    pack->arg[0] =
        (dnnl_exec_arg_t){d == ONEDNN_PACK ? DNNL_ARG_FROM : DNNL_ARG_TO, pack->plain};
    pack->arg[1] =
        (dnnl_exec_arg_t){d == ONEDNN_PACK ? DNNL_ARG_TO : DNNL_ARG_FROM, pack->packed};
    return pack;
}

void onednn_pack_run(struct onednn_pack *pack, void *packed, void *plain)
{
    onednn_point(pack->packed, &pack->packed_at, packed);
    onednn_point(pack->plain, &pack->plain_at, plain);
    onednn_execute(pack->o, pack->prim, 2, pack->arg);
}

void onednn_pack_free(struct onednn_pack *pack)
{
    if (!pack)
        return;
    if (pack->plain)
        ONEDNN_CHECK(dnnl_memory_destroy(pack->plain));
    if (pack->packed)
        ONEDNN_CHECK(dnnl_memory_destroy(pack->packed));
    if (pack->prim)
        ONEDNN_CHECK(dnnl_primitive_destroy(pack->prim));
    free(pack);
}
