#include "ops/ema.h"

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/ema_formula.h"

void ema(struct builder *b, struct tensor *weights, struct tensor *control,
         struct tensor *ema)
{
    struct tensor *in[] = {[EMA_WEIGHTS] = weights, [EMA_CONTROL] = control};

    node_update(b, &op_ema, "ema", NULL, in, 2, &ema, 1);
}

static const char *ema_shape(struct node *n)
{
    return tensor_len(n->in[EMA_WEIGHTS]) == tensor_len(n->out[0])
               ? NULL
               : "weights and EMA differ in length";
}

static int64_t ema_flops(const struct node *n)
{
    return 3 * tensor_len(n->out[0]);
}

static void ema_ref(const struct step *s)
{
    const float *w = s->in[EMA_WEIGHTS];
    const struct control *c = s->in[EMA_CONTROL];
    float *e = s->out[0], rate = (float)(1 - c->ema_decay);

    if (c->overflow)
        return;
    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++)
        e[i] = ema_element(e[i], w[i], rate);
}

const struct op op_ema = {
    .name = "ema",
    .precision = PRECISION_F32,
    .shape = ema_shape,
    .flops = ema_flops,
    .ref = ema_ref,
};
