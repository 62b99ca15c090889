#include "tests/dataset/loader_run.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "tests/make_folder.h"
#include "tests/test.h"

char *make_images(void)
{
    char *dir = make_temp_dir();

    for (int i = 0; i < IMAGES; i++) {
        char *name = xasprintf("class%d/%02d.jpg", i % 3, i);

        make_image(dir, name, 30 + i % 5 * 12, 26 + i % 4 * 14, i);
        free(name);
    }
    return dir;
}

void damage_images(const char *dir)
{
    make_file(dir, "class0/00.jpg", "", 0);
    make_file(dir, "class0/03.jpg", "this is a text", 14);
}

struct loader_options training_options(int workers)
{
    struct loader_options o = {.transform = transform_for_training(SIDE),
                               .batch = 8,
                               .workers = workers,
                               .prefetch = 2,
                               .seed = 11,
                               .shuffle = true,
                               .drop_last = true,
                               .max_bad_share = 0.5};

    o.transform.jitter[0] = o.transform.jitter[1] = o.transform.jitter[2] = 0.4;
    return o;
}

static uint64_t mix_bytes(uint64_t h, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

uint64_t hash_batch(const struct batch *b)
{
    size_t n = (size_t)b->size;
    uint64_t h = mix_bytes(14695981039346656037u, b->pixel, n * SIDE * SIDE * 3);

    h = mix_bytes(h, b->label, n * sizeof(*b->label));
    return mix_bytes(h, b->sample, n * sizeof(*b->sample));
}

int run_epoch(struct loader *l, uint64_t epoch, int64_t first, uint64_t *hash)
{
    const struct batch *b;
    int n = 0;

    loader_start_epoch(l, epoch, first);
    while ((b = loader_next(l))) {
        assert_int_equal(b->number, first + n);
        assert_int_equal(b->epoch, epoch);
        hash[n++] = hash_batch(b);
        loader_release_batch(l, b);
    }
    assert_null(loader_next(l));
    return n;
}
