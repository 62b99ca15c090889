#include "cmd/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/usual_names.h"

static const double TEMPERATURE = 0.07;

/* What the path of an image says. */
struct labeled {
    int64_t image;
    int class;
};

struct pool {
    struct labeled *train, *val;
    int ntrain, nval;
    char **class_name;
    int nclass, cap;
};

static bool in_list(const char *const *list, const char *word)
{
    for (; *list; list++)
        if (!strcmp(*list, word))
            return true;
    return false;
}

static int class_of(struct pool *p, const char *name)
{
    for (int i = 0; i < p->nclass; i++)
        if (!strcmp(p->class_name[i], name))
            return i;
    GROW(p->class_name, p->nclass, p->cap);
    p->class_name[p->nclass] = xstrdup(name);
    return p->nclass++;
}

/* Adds an image by its path SPLIT/CLASS/FILE. */
static void add_image(struct pool *p, int64_t i, const char *path)
{
    char *folder = path_dirname(path), *parent = path_dirname(folder);
    const char *class = path_basename(folder), *split = path_basename(parent);
    bool train = in_list(usual_train_words, split);

    if (train)
        p->train[p->ntrain++] = (struct labeled){i, class_of(p, class)};
    else if (in_list(usual_val_words, split))
        p->val[p->nval++] = (struct labeled){i, class_of(p, class)};
    free(parent);
    free(folder);
}

/* Scales a vector to length 1. Returns false if it has NaN. */
static bool normalize(const float *src, int64_t len, float *dst)
{
    double sum = 0;

    for (int64_t k = 0; k < len; k++)
        sum += (double)src[k] * (double)src[k];
    for (int64_t k = 0; k < len; k++)
        dst[k] = sum > 0 ? (float)((double)src[k] / sqrt(sum)) : 0;
    return !isnan(sum);
}

struct neighbor {
    double similarity;
    int class;
};

/* Inserts a neighbor into near[n], most similar first, and drops what exceeds k. Later ones
 * lose ties. Returns the new n. */
static int insert(struct neighbor *neighbors, int n, int k, struct neighbor new)
{
    int i = n < k ? n : k - 1;

    if (n == k && !(new.similarity > neighbors[k - 1].similarity))
        return n;
    for (; i > 0 && new.similarity > neighbors[i - 1].similarity; i--)
        neighbors[i] = neighbors[i - 1];
    neighbors[i] = new;
    return n < k ? n + 1 : k;
}

/* Returns the number of classes with more votes than the true one; ties are lost by higher
 * class indices. */
static int rank_of(const double *vote, int classes, int label)
{
    int rank = 0;

    for (int c = 0; c < classes; c++)
        rank += vote[c] > vote[label] || (vote[c] == vote[label] && c < label);
    return rank;
}

/* Returns the rank of the true class of a validation image. */
static int classify(const struct pool *p, const float *unit, int64_t len, int k,
                    const struct labeled *image)
{
    struct neighbor *neighbors = xcalloc((size_t)k, sizeof(*neighbors));
    double *vote = xcalloc((size_t)p->nclass, sizeof(*vote));
    const float *x = unit + image->image * len;
    int n = 0, rank;

    for (int t = 0; t < p->ntrain; t++) {
        const float *y = unit + p->train[t].image * len;
        double dot = 0;

        for (int64_t j = 0; j < len; j++)
            dot += (double)x[j] * (double)y[j];
        n = insert(neighbors, n, k, (struct neighbor){dot, p->train[t].class});
    }
    for (int t = 0; t < n; t++)
        vote[neighbors[t].class] += exp(neighbors[t].similarity / TEMPERATURE);
    rank = rank_of(vote, p->nclass, image->class);
    free(neighbors);
    free(vote);
    return rank;
}

static void classify_all(struct knn *r, const struct pool *p, const float *unit,
                         int64_t len)
{
    int right = 0, right5 = 0, k = r->k < p->ntrain ? r->k : p->ntrain;

#pragma omp parallel for reduction(+ : right, right5)
    for (int i = 0; i < p->nval; i++) {
        int rank = classify(p, unit, len, k, &p->val[i]);

        right += rank < 1;
        right5 += rank < 5;
    }
    r->top1 = 100.0 * right / p->nval;
    r->top5 = 100.0 * right5 / p->nval;
}

bool knn_classify(struct knn *r, const struct images *images, const float *vector,
                  int64_t len, struct strbuf *why)
{
    size_t n = (size_t)images->n;
    struct pool p = {.train = xcalloc(n, sizeof(*p.train)),
                     .val = xcalloc(n, sizeof(*p.val))};
    float *unit = xcalloc(n * (size_t)len, sizeof(*unit));

    for (int64_t i = 0; i < images->n; i++)
        if (normalize(vector + i * len, len, unit + i * len))
            add_image(&p, i, images->path[i]);
    r->classes = p.nclass;
    r->ntrain = p.ntrain;
    r->nval = p.nval;
    r->top1 = r->top5 = (double)NAN;
    if (!p.ntrain || !p.nval)
        strbuf_addf(why, "no images below %s/CLASS/", p.ntrain ? "val" : "train");
    else
        classify_all(r, &p, unit, len);
    for (int i = 0; i < p.nclass; i++)
        free(p.class_name[i]);
    free(p.class_name);
    free(p.train);
    free(p.val);
    free(unit);
    return r->ntrain && r->nval;
}
