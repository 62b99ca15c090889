#include "base/alloc.h"
#include "base/error.h"
#include "cpu/onednn_internal.h"

void onednn_check(dnnl_status_t s, const char *file, int line, const char *call)
{
    if (s == dnnl_out_of_memory)
        die("oneDNN is out of memory in %s", call);
    if (s != dnnl_success)
        bug_at(file, line, "%s: oneDNN status %d", call, (int)s);
}

struct onednn *onednn_open(void)
{
    struct onednn *o = xcalloc(1, sizeof(*o));

    ONEDNN_CHECK(dnnl_engine_create(&o->engine, dnnl_cpu, 0));
    ONEDNN_CHECK(dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags));
    return o;
}

void onednn_close(struct onednn *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->npackings; i++)
        md_release(&o->packings[i]);
    free(o->packings);
    ONEDNN_CHECK(dnnl_stream_destroy(o->stream));
    ONEDNN_CHECK(dnnl_engine_destroy(o->engine));
    free(o);
}

const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();

    (void)snprintf(text, sizeof(text), "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

bool onednn_has_native_dtype(enum dtype d)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    if (d == DTYPE_BF16) /* each instruction set contains the bits of those below it */
        return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
    return d == DTYPE_F32;
}

bool onednn_has_vnni(void)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni ||
           (isa & dnnl_cpu_isa_avx2_vnni) == dnnl_cpu_isa_avx2_vnni;
}

bool onednn_has_dtype(enum dtype d)
{
    unsigned isa = (unsigned)dnnl_get_effective_cpu_isa();

    if (d == DTYPE_BF16)
        return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
    return d == DTYPE_F32;
}

void onednn_prim_free(struct onednn_prim *p)
{
    if (!p)
        return;
    for (int i = 0; i < ARG_COUNT; i++)
        if (p->memory[i])
            ONEDNN_CHECK(dnnl_memory_destroy(p->memory[i]));
    ONEDNN_CHECK(dnnl_primitive_destroy(p->prim));
    md_release(&p->packed);
    md_release(&p->plain);
    free(p->name);
    free(p);
}

size_t onednn_prim_scratch(const struct onednn_prim *p)
{
    return p->scratch;
}

size_t onednn_prim_weights_size(const struct onednn_prim *p)
{
    return md_size(&p->packed);
}

size_t onednn_prim_plain_size(const struct onednn_prim *p)
{
    return md_size(&p->plain);
}

const char *onednn_prim_name(const struct onednn_prim *p)
{
    return p->name;
}

bool onednn_prim_plain(const struct onednn_prim *p)
{
    return md_equal(&p->packed, &p->plain);
}

int onednn_prim_packing(const struct onednn_prim *p)
{
    struct onednn *o = p->o;

    for (int i = 0; i < o->npackings; i++)
        if (md_equal(&o->packings[i], &p->packed))
            return i;
    GROW(o->packings, o->npackings, o->packings_cap);
    o->packings[o->npackings] = md_copy(&p->packed);
    return o->npackings++;
}

bool onednn_prim_blocks(const struct onednn_prim *p, struct onednn_blocks *b)
{
    struct blocking d;

    if (!md_blocking(&p->packed, &d) || (d.ndim != 4 && d.ndim != 2) || d.count > 4)
        return false;
    *b = (struct onednn_blocks){
        .out_padded = d.padded[0],
        .in_padded = d.padded[1],
        .stride_o = d.stride[0],
        .stride_i = d.stride[1],
        .stride_h = d.ndim == 4 ? d.stride[2] : 0,
        .stride_w = d.ndim == 4 ? d.stride[3] : 0,
        .count = d.count,
    };
    for (int i = 0; i < d.count; i++) {
        if (d.index[i] > 1)
            return false;
        b->size[i] = d.size[i];
        b->of_in[i] = d.index[i] == 1;
    }
    return true;
}

/* oneDNN copies the arguments into a small table of its own on every call. */
void onednn_execute(struct onednn *o, dnnl_primitive_t prim, int n,
                    const dnnl_exec_arg_t *arg)
{
    bool forbidden = alloc_forbid(false);

    ONEDNN_CHECK(dnnl_primitive_execute(prim, o->stream, n, arg));
    ONEDNN_CHECK(dnnl_stream_wait(o->stream));
    (void)alloc_forbid(forbidden);
}

void onednn_point(dnnl_memory_t m, void **ptr, void *p)
{
    bool forbidden;

    if (*ptr == p)
        return;
    forbidden = alloc_forbid(false); /* the first run allocates */
    ONEDNN_CHECK(dnnl_memory_set_data_handle(m, p));
    (void)alloc_forbid(forbidden);
    *ptr = p;
}

void onednn_prim_run(struct onednn_prim *p, const struct onednn_args *a)
{
    void *pointer[ARG_COUNT] = {
        [ARG_SRC] = a->src,
        [ARG_WEIGHTS] = a->weights,
        [ARG_BIAS] = a->bias,
        [ARG_DST] = a->dst,
        [ARG_ADD] = (void *)(uintptr_t)a->add, /* read only, but oneDNN wants void * */
        [ARG_SCRATCH] = a->scratch,
    };

    for (int i = 0; i < p->narg; i++)
        onednn_point(p->memory[p->slot[i]], &p->pointer[p->slot[i]], pointer[p->slot[i]]);
    onednn_execute(p->o, p->prim, p->narg, p->arg);
}
