/* What the ops of MODEL.LAYERS have in common: refusals, and checks of shapes. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "layers/op.h"
#include "ops/image.h"

struct tensor *layer_refuse(struct layer_call *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!c->why->len)
        strbuf_addv(c->why, fmt, ap);
    va_end(ap);
    return NULL;
}

void layer_add_shape(struct strbuf *s, const struct tensor *t)
{
    strbuf_addstr(s, "[N");
    for (int i = 1; i < t->ndim; i++)
        strbuf_addf(s, ", %" PRId64, t->dim[i]);
    strbuf_addch(s, ']');
}

static bool wants(struct layer_call *c, const struct tensor *x, bool is, const char *what,
                  const char *hint)
{
    struct strbuf s = STRBUF_INIT;

    if (!is) {
        layer_add_shape(&s, x);
        layer_refuse(c, "%s needs %s, and its input is %s%s", c->op->name, what, s.buf,
                     hint);
    }
    strbuf_release(&s);
    return is;
}

bool layer_wants_image(struct layer_call *c, const struct tensor *x)
{
    return wants(c, x, tensor_is_image(x), "an image [N, C, H, W]", "");
}

bool layer_wants_vector(struct layer_call *c, const struct tensor *x)
{
    return wants(c, x, x->ndim == 2, "[N, features]",
                 tensor_is_image(x) ? ": put a flatten before it" : "");
}

bool layer_wants_size(struct layer_call *c, int64_t height, int64_t width)
{
    enum { SIDE = 1 << 16 };
    struct strbuf s = STRBUF_INIT;

    layer_add_shape(&s, c->in[0]);
    if (height < 1 || width < 1)
        layer_refuse(c,
                     "nothing is left of its input %s: the result would be %" PRId64
                     " x %" PRId64 " pixels",
                     s.buf, height > 0 ? height : 0, width > 0 ? width : 0);
    else if (height > SIDE || width > SIDE)
        layer_refuse(c,
                     "of its input %s, the result would be %" PRId64 " x %" PRId64
                     " pixels, more than %d per side",
                     s.buf, height, width, SIDE);
    strbuf_release(&s);
    return !c->why->len;
}

bool layer_wants_weights(struct layer_call *c, double elements)
{
    if (!(elements <= 4294967296.0))
        layer_refuse(c, "its weight would have %.3g elements", elements);
    return !c->why->len;
}
