#include "pt2/pair.h"

#include <string.h>

#include "pt2/outputs.h"

static bool same_dims(const struct pt2_meta *a, const struct pt2_meta *b)
{
    return a->ndim == b->ndim &&
           !memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof(*a->dim));
}

/* True if two programs have a value of the same dims; else says that `what` differs. */
static bool check_dims(const struct pt2_program *p, const struct pt2_meta *a,
                       const struct pt2_program *q, const struct pt2_meta *b,
                       const char *what, struct strbuf *why)
{
    if (same_dims(a, b))
        return true;
    strbuf_addf(why, "%s ", what);
    pt2_add_dims(why, a);
    strbuf_addf(why, " in '%s' and ", p->path);
    pt2_add_dims(why, b);
    strbuf_addf(why, " in '%s'", q->path);
    return false;
}

static const char *kind_of(const struct pt2_weight *w)
{
    return w->kind == PT2_PARAMETER ? "parameter" : "buffer";
}

/* Compares the weights of p with those of q that have their names. */
static bool check_weights(const struct pt2_program *p, const struct pt2_program *q,
                          struct strbuf *why)
{
    struct strbuf what = STRBUF_INIT;
    bool ok = true;

    for (int i = 0; i < p->nweight && ok; i++) {
        const struct pt2_weight *w = &p->weight[i], *v;

        if (w->kind == PT2_CONSTANT)
            continue;
        v = pt2_weight_named(q, w->name, i);
        ok = v && v->kind == w->kind;
        if (!ok)
            strbuf_addf(why, "'%s' has no %s '%s', which '%s' has", q->path, kind_of(w),
                        w->name, p->path);
        strbuf_reset(&what);
        strbuf_addf(&what, "the %s '%s' is", kind_of(w), w->name);
        ok = ok && check_dims(p, w->meta, q, v->meta, what.buf, why);
        if (ok && w->meta->dtype != v->meta->dtype) {
            strbuf_addf(why, "%s of another type in '%s' than in '%s'", what.buf, q->path,
                        p->path);
            ok = false;
        }
    }
    strbuf_release(&what);
    return ok;
}

bool pt2_pair_check(const struct pt2_program *p, const struct pt2_program *eval,
                    struct strbuf *why)
{
    bool ok =
        check_weights(p, eval, why) && check_weights(eval, p, why) &&
        check_dims(p, p->input_meta, eval, eval->input_meta, "the images are", why) &&
        check_dims(p, p->output.meta, eval, eval->output.meta, "the logits are", why);

    if (!ok)
        strbuf_addstr(why,
                      ": export both from one module, in train mode and in eval mode");
    return ok;
}
