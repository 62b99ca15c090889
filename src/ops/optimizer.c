/* What the optimizers' nodes share; see ops/update.h. */
#include "ops/optimizer.h"

void optimizer(struct builder *b, const struct op *op, const void *attrs,
               struct tensor *grads, struct tensor *control, struct tensor *const *state,
               int nstate)
{
    struct tensor *in[] = {[UPDATE_GRADS] = grads, [UPDATE_CONTROL] = control};

    node_update(b, op, op->name, attrs, in, 2, state, nstate);
}

static const char *segments_check(const struct update *u, int64_t len)
{
    int64_t end = 0;

    for (int i = 0; i < u->nsegment; i++) {
        const struct update_segment *s = &u->segment[i];

        if (s->offset < end || s->len < 1)
            return "segments overlap or are out of order";
        end = s->offset + s->len;
    }
    return end <= len ? NULL : "a segment is out of range";
}

const char *optimizer_check(const struct node *n, const struct update *u, int nstate)
{
    int64_t len;

    if (n->nin != 2 || n->nout != nstate)
        return "wrong number of tensors";
    len = tensor_len(n->out[UPDATE_WEIGHTS]);
    if (tensor_size(n->in[UPDATE_CONTROL]) != sizeof(struct control))
        return "no control tensor";
    if (tensor_len(n->in[UPDATE_GRADS]) != len)
        return "weights and gradients differ in length";
    for (int i = UPDATE_MOMENT1; i < n->nout; i++)
        if (tensor_len(n->out[i]) != len)
            return "weights and moments differ in length";
    return segments_check(u, len);
}

int64_t optimizer_elements(const struct update *u)
{
    int64_t len = 0;

    for (int i = 0; i < u->nsegment; i++)
        len += u->segment[i].len;
    return len;
}
