#include "ops/lower.h"

#include "base/error.h"

void lower_adopt(struct node *n, int slot, struct tensor *old)
{
    struct tensor *made = n->out[slot];

    if (!tensor_same(made, old) || made->dtype != old->dtype)
        BUG("'%s' changes its shape or type", old->name);
    made->producer = NULL;
    n->out[slot] = old;
    old->producer = n;
    old->slot = slot;
}
