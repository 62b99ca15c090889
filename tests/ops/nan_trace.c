#include "tests/ops/nan_trace.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "tests/test.h"

/* Returns the number of NaNs in a step's current result k; -1 if it is not float. */
static int64_t count(const struct case_run *r, const struct step *s, int k)
{
    const struct tensor *t = s->out_tensor[k];
    int64_t nans = 0, n = tensor_len(t);
    void *host;

    if (!s->out[k] || (t->dtype != DTYPE_F32 && !dtype_is_half(t->dtype)))
        return -1;
    host = xmalloc(tensor_size(t));
    if (r->backend->sync)
        r->backend->sync(r->dev);
    r->backend->copy_out(r->dev, host, s->out[k], tensor_size(t));
    for (int64_t i = 0; i < n; i++) {
        uint16_t half = ((uint16_t *)host)[t->dtype == DTYPE_F32 ? 0 : i];

        nans += isnan(t->dtype == DTYPE_F32   ? ((float *)host)[i]
                      : t->dtype == DTYPE_F16 ? fp16_to_float(half)
                                              : bf16_to_float(half)) != 0;
    }
    free(host);
    return nans;
}

/* Stores the reference's count of each tensor, plus 1, by name. */
static void note_counts(const struct case_run *want, struct strmap *by_name)
{
    struct program *p = want->program;

    for (int i = 0; i < p->nregion; i++) {
        struct step *s = &p->step[i];

        s->kernel->run(s, want->dev);
        for (int k = 0; k < s->nout; k++)
            strmap_put(by_name, s->out_tensor[k]->name,
                       (void *)(intptr_t)(count(want, s, k) + 1));
    }
}

static void describe(const struct program *p, int i, struct strbuf *text)
{
    const struct region *r = p->region[i];
    size_t len;

    strbuf_addf(text, "step %d of '%s', ", i, r->anchor->layer);
    for (int k = r->nnode; k-- > 0;)
        strbuf_addf(text, "%s%s", r->node[k]->op->name, k ? " + " : "");
    strbuf_addf(text, " by %s", r->kernel->name);
    strbuf_addstr(text, " (");
    len = text->len;
    if (r->kernel->describe)
        r->kernel->describe(&p->step[i], text);
    strbuf_addstr(text, text->len > len ? ")" : "our own)");
}

void nan_trace(const struct case_run *want, const struct case_run *got)
{
    struct strmap by_name = {0};
    struct strbuf text = STRBUF_INIT;
    struct program *p = got->program;

    note_counts(want, &by_name);
    for (int i = 0; i < p->nregion; i++) {
        struct step *s = &p->step[i];

        s->kernel->run(s, got->dev);
        for (int k = 0; k < s->nout; k++) {
            const struct tensor *t = s->out_tensor[k];
            int64_t expect = (intptr_t)strmap_get(&by_name, t->name) - 1;
            int64_t have = count(got, s, k);

            if (expect < 0 || have < 0 || have == expect)
                continue;
            strbuf_reset(&text);
            describe(p, i, &text);
            print_error("    %s: %lld NaN in %s of %lld elements, the reference %lld\n",
                        text.buf, (long long)have, t->name, (long long)tensor_len(t),
                        (long long)expect);
        }
    }
    strbuf_release(&text);
    strmap_release(&by_name);
}
