/* The rows of mixtures of experts. */
#include "cases/case_build.h"

#include "ops/activation.h"
#include "ops/add_noise.h"
#include "ops/all_to_all.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"

/* Tokens dim[0] x dim[1] go to `out` experts with `groups` slots each, which are sigmoids
 * here, and come back, times their scores. */
void case_moe(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct moe_route_attrs a = *(const struct moe_route_attrs *)row->attrs;
    const int64_t scores_dim[] = {s->dim[0], s->out, 0, 0};
    struct tensor *scores = case_plain(c, "scores", scores_dim, row->fill), *y, *gate;
    struct tensor *x = case_plain(c, "x", s->dim, CASE_SIGNED);
    struct moe_slots slots = {.experts = s->out, .capacity = s->groups};
    struct node *route;

    a.layer = "route";
    a.capacity = s->groups;
    route = moe_route_(c->b, scores, &a);
    slots.slot = route->out[MOE_ROUTE_SLOT];
    slots.token = route->out[MOE_ROUTE_TOKEN];
    gate = moe_pick(c->b, scores, slots.slot, slots.capacity, "gate");
    y = moe_dispatch(c->b, x, NULL, &slots, "dispatch");
    y = sigmoid(c->b, y, "sigmoid");
    case_output(c, moe_combine(c->b, y, gate, &slots, "combine"));
    case_output(c, gate);
    case_output(c, route->out[MOE_ROUTE_FIRST]);
}

/* The rows of `out` experts go to their processes, are sigmoids there, and come back. */
void case_all_to_all(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    const int64_t dim[] = {s->out, s->groups, s->dim[1], 0};
    struct tensor *x = case_plain(c, "x", dim, CASE_SIGNED);

    x = all_to_all(c->b, x, row->norms, false, "send");
    x = sigmoid(c->b, x, "sigmoid");
    case_output(c, all_to_all(c->b, x, row->norms, true, "return"));
}

void case_add_noise(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    (void)row;
    case_output(c,
                add_noise(c->b, case_plain(c, "x", s->dim, CASE_SIGNED), 0.5f, "noise"));
}
