/* The rows of the optimizers, and the ops with their references, generated from the list. */
#include "graph/kernel.h"
#include "ops/optimizer.h"
#include "ops/optimizer_list.h"

#define READS(...)                                                                       \
    (const char *const[])                                                                \
    {                                                                                    \
        __VA_ARGS__, NULL                                                                \
    }
#define USUAL(...)                                                                       \
    (const struct optimizer_usual[])                                                     \
    {                                                                                    \
        __VA_ARGS__,                                                                     \
        {                                                                                \
            NULL, NULL                                                                   \
        }                                                                                \
    }
#define KEY(name) "TRAIN.OPTIMIZER." name

const struct optimizer optimizer_table[] = {
    {
        .name = "adamw",
        .help = "Adam with decoupled weight decay (torch)",
        .op = &op_adam,
        .adaptive = true,
        .decoupled = true,
        .moment = {"exp_avg", "exp_avg_sq"},
        .flops = 15,
        .reads = READS(KEY("BETAS"), KEY("EPS")),
    },
    {
        .name = "adam",
        .help = "Adam; weight decay is part of the gradient (torch)",
        .op = &op_adam,
        .adaptive = true,
        .moment = {"exp_avg", "exp_avg_sq"},
        .flops = 15,
        .reads = READS(KEY("BETAS"), KEY("EPS")),
    },
    {
        .name = "sgd",
        .help = "SGD with momentum (torch)",
        .op = &op_sgd,
        .momentum = true,
        .moment = {"momentum_buffer"},
        .flops = 7,
        .reads = READS(KEY("MOMENTUM"), KEY("NESTEROV")),
    },
    {
        .name = "rmsprop",
        .help = "RMSprop with momentum (torch)",
        .op = &op_rmsprop,
        .adaptive = true,
        .moment = {"momentum_buffer", "square_avg"},
        .flops = 13,
        .reads = READS(KEY("ALPHA"), KEY("EPS"), KEY("MOMENTUM")),
    },
    {
        .name = "lion",
        .help = "Lion: steps of one size, with decoupled weight decay (timm)",
        .op = &op_lion,
        .adaptive = true,
        .moment = {"exp_avg"},
        .flops = 9,
        .reads = READS(KEY("BETAS")),
        .usual = USUAL({KEY("BETAS"), "[0.9, 0.99]"}),
    },
    {
        .name = "lamb",
        .help = "LAMB: Adam with a trust ratio per tensor (timm)",
        .op = &op_lamb,
        .trust = true,
        .adaptive = true,
        .moment = {"exp_avg", "exp_avg_sq"},
        .flops = 36,
        .reads = READS(KEY("BETAS"), KEY("EPS"), KEY("TRUST_CLIP"), KEY("ALWAYS_ADAPT")),
        .usual = USUAL({KEY("EPS"), "1.0e-06"}, {"TRAIN.CLIP_GRAD", "1.0"}),
    },
    {
        .name = "lars",
        .help = "LARS: SGD with a trust ratio per tensor (timm)",
        .op = &op_lars,
        .trust = true,
        .momentum = true,
        .moment = {"momentum_buffer"},
        .flops = 13,
        .reads = READS(KEY("MOMENTUM"), KEY("NESTEROV"), KEY("EPS"), KEY("TRUST_COEFF"),
                       KEY("TRUST_CLIP"), KEY("ALWAYS_ADAPT")),
        .usual = USUAL({KEY("NESTEROV"), "False"}),
    },
    {.name = NULL},
};

/* ---- the reference ---- */

struct arrays {
    float *w, *m1, *m2; /* a missing moment points to w and is not used */
    const float *g;
};

typedef void segment_fn(const struct optimizer_attrs *a, const struct update_segment *s,
                        const struct control *c, const struct arrays *x);

static void reference(const struct step *s, segment_fn *segment)
{
    const struct optimizer_attrs *a = s->node->attrs;
    const struct control *c = s->in[UPDATE_CONTROL];
    float *w = s->out[UPDATE_WEIGHTS];
    int n = s->node->nout;
    struct arrays x = {
        .w = w,
        .m1 = n > UPDATE_MOMENT1 ? s->out[UPDATE_MOMENT1] : w,
        .m2 = n > UPDATE_MOMENT2 ? s->out[UPDATE_MOMENT2] : w,
        .g = s->in[UPDATE_GRADS],
    };

    for (int i = 0; i < a->update.nsegment && !c->overflow; i++)
        segment(a, &a->update.segment[i], c, &x);
}

#define REFERENCE(NAME)                                                                  \
    static void NAME##_segment(const struct optimizer_attrs *a,                          \
                               const struct update_segment *s, const struct control *c,  \
                               const struct arrays *x)                                   \
    {                                                                                    \
        struct NAME##_rule r = NAME##_rule(a, s, c);                                     \
                                                                                         \
        for (int64_t i = s->offset; i < s->offset + s->len; i++)                         \
            NAME##_element(&x->w[i], &x->m1[i], &x->m2[i], x->g[i], &r);                 \
    }                                                                                    \
    static void NAME##_ref(const struct step *s)                                         \
    {                                                                                    \
        reference(s, NAME##_segment);                                                    \
    }

static double square(float x)
{
    return (double)x * (double)x;
}

#define REFERENCE_TRUST(NAME)                                                            \
    static void NAME##_segment(const struct optimizer_attrs *a,                          \
                               const struct update_segment *s, const struct control *c,  \
                               const struct arrays *x)                                   \
    {                                                                                    \
        struct NAME##_rule r = NAME##_rule(a, s, c);                                     \
        int64_t end = s->offset + s->len;                                                \
        double ww = 0, uu = 0;                                                           \
                                                                                         \
        for (int64_t i = s->offset; i < end && update_adapts(a, s); i++) {               \
            ww += square(x->w[i]);                                                       \
            uu += square(NAME##_measured(x->w[i], x->m1[i], x->m2[i], x->g[i], &r));     \
        }                                                                                \
        if (update_adapts(a, s))                                                         \
            r.update.trust = NAME##_trust(a, s, c, sqrt(ww), sqrt(uu));                  \
        for (int64_t i = s->offset; i < end; i++)                                        \
            NAME##_element(&x->w[i], &x->m1[i], &x->m2[i], x->g[i], &r);                 \
    }                                                                                    \
    static void NAME##_ref(const struct step *s)                                         \
    {                                                                                    \
        reference(s, NAME##_segment);                                                    \
    }
OPTIMIZER_LIST(REFERENCE, REFERENCE_TRUST)

#define OP(NAME)                                                                         \
    const struct op op_##NAME = {                                                        \
        .name = #NAME,                                                                   \
        .attrs_size = sizeof(struct optimizer_attrs),                                    \
        .precision = PRECISION_F32,                                                      \
        .shape = optimizer_shape,                                                        \
        .flops = optimizer_flops,                                                        \
        .ref = NAME##_ref,                                                               \
    };
OPTIMIZER_LIST(OP, OP)
