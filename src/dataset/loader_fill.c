#include "dataset/loader_ring.h"

#include <string.h>

#include "base/failure.h"

size_t loader_sample_size(const struct loader *l)
{
    return transform_size(&l->o.transform);
}

size_t loader_label_map_size(const struct loader *l)
{
    int d = l->o.transform.label_divisor;

    return d ? (size_t)(l->o.transform.w / d) * (size_t)(l->o.transform.h / d) : 0;
}

/* How many samples to try as replacements for a damaged one, as in timm. */
enum { REPLACEMENTS = 50 };

static struct sampler loader_order(const struct loader *l, uint64_t epoch)
{
    return (struct sampler){
        .seed = l->o.seed,
        .epoch = epoch,
        .n = l->source.data->n,
        .shuffle = l->o.shuffle,
        .repeats = l->o.repeats,
        .weights = l->weights,
        .windows = l->windows.shard ? &l->windows : NULL,
        .rank = l->o.part ? l->o.rank : 0,
        .world = l->o.part ? l->o.world : 0,
    };
}

/* Returns the epoch for the augmentation key, which differs between copies of a
 * sample. */
static uint64_t loader_augmented(uint64_t epoch, const struct sampler *order,
                                 int64_t position)
{
    return epoch * (uint64_t)sampler_copies(order) +
           (uint64_t)sampler_copy(order, position);
}

/* Returns the position in the epoch of this process's sample number `number`, at index `pos`
 * of its batch. */
static int64_t loader_position(const struct loader *l, int64_t number, int pos)
{
    bool other = l->o.half && pos >= l->o.half;

    if (l->o.part)
        return number;
    return number * l->o.world + (other ? l->o.world - 1 - l->o.rank : l->o.rank);
}

/* Sets the targets at index `pos` to those of a sample; marks them as unknown for -1. */
static void loader_targets(const struct loader *l, const struct batch *b, int pos,
                           int64_t sample)
{
    size_t n = dataset_target_size(l->source.data);

    if (b->target && sample < 0)
        memset(b->target + (size_t)pos * n, TARGET_UNKNOWN, n);
    else if (b->target)
        dataset_targets(l->source.data, sample, b->target + (size_t)pos * n);
}

char *loader_fill(struct loader *l, struct loader_worker *w, struct batch *b, int pos,
                  int64_t *sample, bool *machine)
{
    struct sampler order = loader_order(l, b->epoch);
    int64_t positions = sampler_len(&order);
    int tries = l->o.replace ? REPLACEMENTS : 0;
    int64_t number = b->number * l->o.batch + pos;
    int64_t position = loader_position(l, number, pos);
    size_t size = loader_sample_size(l), label_map_size = loader_label_map_size(l);
    uint8_t *pixel = b->pixel + (size_t)pos * size;
    uint8_t *label_map =
        b->label_map ? b->label_map + (size_t)pos * label_map_size : NULL;
    struct strbuf why = STRBUF_INIT, others = STRBUF_INIT;

    b->label[pos] = -1;
    loader_targets(l, b, pos, -1);
    b->key[pos] = (struct augment_key){.sample = -1};
    w->transformer.job = b->job ? &b->job[pos] : NULL;
    if (b->job)
        b->job[pos] = (struct resize_job){0};
    b->sample[pos] = *sample =
        position < positions ? sampler_index(&order, position) : -1;
    for (int k = 0; *sample >= 0 && k <= tries && k < positions; k++) {
        int64_t other = (position + k) % positions, i = sampler_index(&order, other);

        int rc = loader_sample(w, &l->source, loader_augmented(b->epoch, &order, other),
                               i, pixel, label_map, k ? &others : &why);

        *machine = rc == FAILURE_MACHINE;
        if (*machine) {
            *sample = i;
            strbuf_release(k ? &why : &others);
            return strbuf_detach(k ? &others : &why);
        }
        if (rc)
            continue;
        b->sample[pos] = i;
        b->label[pos] = dataset_label(l->source.data, i);
        loader_targets(l, b, pos, i);
        b->key[pos] =
            (struct augment_key){l->o.seed, loader_augmented(b->epoch, &order, other), i};
        strbuf_release(&others);
        if (k)
            return strbuf_detach(&why);
        strbuf_release(&why); /* reason of a failure that was overcome */
        return NULL;
    }
    memset(pixel, 0, size);
    if (b->job)
        b->job[pos] = (struct resize_job){0};
    if (label_map)
        memset(label_map, LABEL_IGNORE, label_map_size);
    strbuf_release(&others); /* they are reported at their own index */
    return *sample < 0 ? NULL : strbuf_detach(&why);
}
