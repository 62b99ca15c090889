/*
 * moe_route, moe_pick and its gradient, and the noise of the scores. Threads choose the
 * experts of their tokens; one of them gives out places, in an order that a radix sort of
 * the greatest scores makes.
 */
#include "ops/moe_route.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/add_noise.h"
#include "ops/control.h"

struct job {
    const struct device *dev;
    const struct step *s;
};

/* A token and its greatest score as a number that is small for great scores. */
struct entry {
    uint32_t key, token;
};

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

static int64_t tokens_of(const struct node *n)
{
    return n->out[MOE_ROUTE_SLOT]->dim[0];
}

static int64_t experts_of(const struct node *n)
{
    return n->out[MOE_ROUTE_FIRST]->dim[0];
}

/* The workspace: places given out by each expert, then the entries, twice. */
static const char *route_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_moe_route)
        return "no routing of tokens";
    region_claim_node(r, n);
    region_workspace(r, (size_t)experts_of(n) * sizeof(int64_t) +
                            2 * (size_t)tokens_of(n) * sizeof(struct entry));
    return NULL;
}

/* Numbers compare in the order of moe_before. */
static uint32_t key_of(float x)
{
    uint32_t bits;

    x += 0.0f; /* both zeros are equal */
    if (x != x)
        return 0;
    memcpy(&bits, &x, sizeof(bits));
    return ~(bits >> 31 ? ~bits : bits | 0x80000000u);
}

/* Chooses the experts of tokens [lo, hi): slot is the expert for now. */
static void choose(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = ((const struct job *)arg)->s;
    const struct moe_route_attrs *a = s->node->attrs;
    int64_t n = experts_of(s->node);
    int32_t *slot = s->out[MOE_ROUTE_SLOT];

    for (int64_t t = lo; t < hi; t++) {
        const float *x = (const float *)s->in[0] + t * n;

        for (int k = 0; k < a->top; k++) {
            int64_t last = k ? slot[t * a->top + k - 1] : -1, best = -1;

            for (int64_t e = 0; e < n; e++)
                if ((last < 0 || moe_before(x[last], last, x[e], e)) &&
                    (best < 0 || moe_before(x[e], e, x[best], best)))
                    best = e;
            slot[t * a->top + k] = (int32_t)best;
        }
    }
}

/* Sorts by one digit of the keys; stable. */
static void sort_digit(const struct entry *src, struct entry *dst, int64_t n, int shift)
{
    uint32_t first[DIGITS] = {0}, sum = 0;

    for (int64_t i = 0; i < n; i++)
        first[src[i].key >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t count = first[d];

        first[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++)
        dst[first[src[i].key >> shift & (DIGITS - 1)]++] = src[i];
}

/* Returns the entries in the order in which tokens get places. */
static const struct entry *sorted(const struct step *s, struct entry *one)
{
    const struct moe_route_attrs *a = s->node->attrs;
    int64_t n = experts_of(s->node), tokens = tokens_of(s->node);
    const int32_t *slot = s->out[MOE_ROUTE_SLOT];
    struct entry *two = one + tokens;

    for (int64_t t = 0; t < tokens; t++)
        one[t] = (struct entry){
            a->prioritized ? key_of(((const float *)s->in[0])[t * n + slot[t * a->top]])
                           : 0,
            (uint32_t)t};
    if (!a->prioritized)
        return one;
    sort_digit(one, two, tokens, 0);
    sort_digit(two, one, tokens, DIGIT);
    sort_digit(one, two, tokens, 2 * DIGIT);
    return two;
}

static void route_run(struct step *s, struct device *dev)
{
    const struct moe_route_attrs *a = s->node->attrs;
    int64_t n = experts_of(s->node), tokens = tokens_of(s->node);
    int64_t *given = s->workspace;
    struct job j = {dev, s};
    int32_t *slot = s->out[MOE_ROUTE_SLOT], *token = s->out[MOE_ROUTE_TOKEN];
    float *first = s->out[MOE_ROUTE_FIRST];
    const struct entry *order;

    cpu_for(dev, tokens, 1, choose, &j);
    order = sorted(s, (struct entry *)(given + n));
    memset(given, 0, (size_t)n * sizeof(*given));
    memset(token, 0xff, (size_t)(n * a->capacity) * sizeof(*token)); /* -1 */
    for (int k = 0; k < a->top; k++) {
        for (int64_t i = 0; i < tokens; i++) {
            int64_t pos = (int64_t)order[i].token * a->top + k;
            int32_t e = slot[pos];
            int64_t place = given[e]++;

            slot[pos] = place < a->capacity ? (int32_t)(e * a->capacity + place) : -1 - e;
            if (slot[pos] >= 0)
                token[slot[pos]] = (int32_t)pos;
        }
        for (int64_t e = 0; first && k == 0 && e < n; e++)
            first[e] = (float)given[e];
    }
}

const struct kernel cpu_moe_route = {
    .name = "cpu moe_route",
    .claim = route_claim,
    .run = route_run,
};

/* ---- moe_pick ---- */

static const char *pick_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_moe_pick && n->op != &op_moe_pick_grad)
        return "no scores of chosen experts";
    region_claim_node(r, n);
    return NULL;
}

/* Rows [lo, hi). */
static void pick_rows(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = ((const struct job *)arg)->s;
    const struct moe_pick_attrs *a = s->node->attrs;
    bool back = s->node->op == &op_moe_pick_grad;
    const int32_t *slot = s->in[back ? MOE_PICK_GRAD_SLOT : MOE_PICK_SLOT];
    int64_t top = (back ? s->in_tensor : s->out_tensor)[0]->dim[1], n = a->experts;
    const float *x = s->in[0];
    float *y = s->out[0];

    if (back)
        memset(y + lo * n, 0, (size_t)((hi - lo) * n) * sizeof(*y));
    for (int64_t i = lo * top; i < hi * top; i++) {
        int64_t pos = i / top * n + moe_expert(slot[i], a->capacity);

        y[back ? pos : i] = x[back ? i : pos];
    }
}

static void pick_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_for(dev, s->out_tensor[0]->dim[0], 1, pick_rows, &j);
}

const struct kernel cpu_moe_pick = {
    .name = "cpu moe_pick",
    .claim = pick_claim,
    .run = pick_run,
};

/* ---- add_noise ---- */

static const char *noise_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_add_noise)
        return "no noise";
    region_claim_node(r, n);
    region_inplace(r, 0, 0);
    return NULL;
}

static void noise_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = ((const struct job *)arg)->s;
    const struct add_noise_attrs *a = s->node->attrs;
    const struct control *c = s->in[ADD_NOISE_CONTROL];
    const struct tensor *t = s->out_tensor[0];
    const float *x = s->in[ADD_NOISE_X];
    float *y = s->out[0];

    for (int64_t i = lo; i < hi; i++) {
        int64_t pos = share_element(a->share, i, tensor_len(t) / t->dim[0]);

        y[i] = x[i] + a->deviation * add_noise_normal(c->seed, (uint64_t)c->micro,
                                                      (uint32_t)a->salt, (uint64_t)pos);
    }
}

static void noise_run(struct step *s, struct device *dev)
{
    struct job j = {dev, s};

    cpu_for(dev, tensor_len(s->out_tensor[0]), 1, noise_part, &j);
}

const struct kernel cpu_add_noise = {
    .name = "cpu add_noise",
    .claim = noise_claim,
    .run = noise_run,
};
