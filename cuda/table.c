#include "cuda/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cuda/backend.h"

struct table {
    struct device *dev;
    size_t size;
    unsigned char data[];
};

static void table_pack(void *dst, void *const *src, void *state)
{
    const struct table *t = state;

    (void)src;
    backend_cuda.copy_in(t->dev, dst, t->data, t->size);
}

int cuda_table(struct region *r, struct device *dev, const void *data, size_t size)
{
    struct table *t = xcalloc(1, sizeof(*t) + size);

    t->dev = dev;
    t->size = size;
    memcpy(t->data, data, size);
    return region_derive(r, &(const struct derive){
                                .size = size,
                                .key = t->data,
                                .key_len = size,
                                .pack = table_pack,
                                .state = t,
                                .release = free,
                            });
}
