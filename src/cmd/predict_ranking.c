/* trainc predict --top-images: the images with the highest probability of each class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/say.h"
#include "cmd/predict.h"

struct entry {
    int64_t image;
    double probability;
};

struct ranking {
    int classes, top;
    int *n;              /* [classes] entries so far */
    struct entry *entry; /* [classes][top], the highest probability first */
};

struct ranking *ranking_new(int classes, int top)
{
    struct ranking *r = xcalloc(1, sizeof(*r));

    r->classes = classes;
    r->top = top;
    r->n = xcalloc((size_t)classes, sizeof(*r->n));
    r->entry = xcalloc((size_t)classes * (size_t)top, sizeof(*r->entry));
    return r;
}

/* Equal probabilities keep the order of the images; NaN is not ranked. */
void ranking_add(struct ranking *r, int64_t image, const double *probability)
{
    for (int c = 0; c < r->classes; c++) {
        struct entry *e = r->entry + (size_t)c * (size_t)r->top;
        int k = r->n[c];

        if (isnan(probability[c]) ||
            (k == r->top && !(probability[c] > e[k - 1].probability)))
            continue;
        k = k < r->top ? k : r->top - 1;
        for (; k > 0 && probability[c] > e[k - 1].probability; k--)
            e[k] = e[k - 1];
        e[k] = (struct entry){image, probability[c]};
        r->n[c] += r->n[c] < r->top;
    }
}

static void print_class(const struct predict *p, int c)
{
    const struct ranking *r = p->ranking;
    const struct entry *e = r->entry + (size_t)c * (size_t)r->top;

    say("%s:", p->name[c]);
    for (int k = 0; k < r->n[c]; k++)
        say("%s%s %.4f", k ? ", " : " ", p->images.path[e[k].image], e[k].probability);
    say("\n");
}

static void put_class(struct predict *p, int c)
{
    const struct ranking *r = p->ranking;
    const struct entry *e = r->entry + (size_t)c * (size_t)r->top;

    json_begin_object(&p->writer, NULL);
    json_put_string(&p->writer, "class", p->name[c]);
    json_begin_array(&p->writer, "images");
    for (int k = 0; k < r->n[c]; k++) {
        json_begin_object(&p->writer, NULL);
        json_put_string(&p->writer, "image", p->images.path[e[k].image]);
        json_put_float(&p->writer, "probability", (float)e[k].probability);
        json_end(&p->writer);
    }
    json_end(&p->writer);
    json_end(&p->writer);
}

void ranking_end(struct predict *p)
{
    struct ranking *r = p->ranking;

    if (!r)
        return;
    json_begin_array(&p->writer, "top_images");
    for (int c = 0; c < r->classes; c++) {
        print_class(p, c);
        put_class(p, c);
    }
    json_end(&p->writer);
    free(r->n);
    free(r->entry);
    free(r);
    p->ranking = NULL;
}
