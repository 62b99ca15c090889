#include "cpu/computed_weights.h"

#include "base/half.h"

static size_t aligned(size_t n)
{
    return (n + 63) / 64 * 64;
}

void computed_weights_claim(struct computed_weights *c, struct region *r,
                            struct onednn *o, const struct onednn_prim *prim,
                            struct tensor *w)
{
    *c = (struct computed_weights){.read = region_read(r, w), .len = tensor_len(w)};
    if (w->dtype != DTYPE_F32)
        c->bytes = c->wide = aligned((size_t)c->len * sizeof(float));
    if (onednn_prim_plain(prim))
        return;
    c->pack = onednn_pack_new(o, prim, ONEDNN_PACK);
    c->bytes += aligned(onednn_prim_weights_size(prim));
}

void *computed_weights_run(const struct computed_weights *c, const struct step *s,
                           void *workspace)
{
    void *plain = s->in[c->read], *packed = (char *)workspace + c->wide;

    if (c->wide) {
        const uint16_t *half = plain;
        float *wide = workspace;

        for (int64_t i = 0; i < c->len; i++)
            wide[i] = bf16_to_float(half[i]);
        plain = wide;
    }
    if (!c->pack)
        return plain;
    onednn_pack_run(c->pack, packed, plain);
    return packed;
}

void computed_weights_release(struct computed_weights *c)
{
    onednn_pack_free(c->pack);
}
