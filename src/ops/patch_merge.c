#include "ops/patch_merge.h"

#include "base/error.h"
#include "ops/image.h"
#include "ops/pad_end.h"
#include "ops/strided_copy.h"
#include "ops/view.h"

enum { B, H, W, C }; /* the dims of tokens */

struct tensor *patch_merge(struct builder *b, struct tensor *x, const char *layer)
{
    int rows = (int)(x->dim[H] % 2), columns = (int)(x->dim[W] % 2);

    if (tensor_is_image(x) || x->ndim != 4)
        BUG("layer '%s': not tokens [B,H,W,C]", layer);
    if (rows || columns)
        x = view_tokens(b,
                        pad_end(b, view_image(b, x, layer), layer, .rows = rows,
                                .columns = columns),
                        layer);

    int64_t n = x->dim[B], h = x->dim[H], w = x->dim[W], c = x->dim[C];
    int64_t merged[] = {n, h / 2, w / 2, 4 * c};

    x = strided_copy(b, x, layer, .n = 6, .len = {n, h / 2, w / 2, 2, 2, c},
                     .stride = {h * w * c, 2 * w * c, 2 * c, c, w * c, 1});
    return view_plain(b, x, layer, 4, merged);
}
