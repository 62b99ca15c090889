#include "models/masking.h"

#include <math.h>

#include "base/error.h"
#include "ops/expr.h"
#include "ops/strided_copy.h"
#include "ops/view.h"

struct tensor *mask_token(struct builder *b, int64_t width)
{
    int64_t dim[] = {1, 1, width};

    return graph_param(b, "", "mask_token", LAYOUT_PLAIN, 3, dim,
                       (struct init){INIT_NORMAL, 0.02f});
}

struct tensor *mask_spread(struct builder *b, struct tensor *cells, int64_t side,
                           const char *layer)
{
    int64_t n = cells->dim[0], row = (int64_t)lround(sqrt((double)cells->dim[1]));
    int64_t times = side / row, dim[] = {n, side, side, 1};

    if (side % row)
        usage("DATA.MASK_PATCH_SIZE: %lld masked patches a side do not divide the %lld "
              "patches of the model",
              (long long)row, (long long)side);
    cells = strided_copy(b, cells, layer, .n = 5, .len = {n, row, times, row, times},
                         .stride = {row * row, row, 0, 1, 0});
    return view_plain(b, cells, layer, 4, dim);
}

struct tensor *mask_tokens(struct builder *b, struct tensor *x, struct tensor *token,
                           struct tensor *cells)
{
    struct tensor *in[] = {x, view_plain(b, token, "mask_token", 1, &x->dim[3]),
                           mask_spread(b, cells, x->dim[1], "mask_token")};
    struct expr e = expr_start("mask_token", 3, in);

    return expr_end(b, &e, expr_select(&e, 2, 1, 0));
}
