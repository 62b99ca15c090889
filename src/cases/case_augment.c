/* Augmentations of bytes; the compared results are normalized to floats. */
#include "cases/case_build.h"
#include "ops/augment.h"
#include "ops/normalize.h"
#include "ops/patch_mask.h"
#include "ops/resize.h"

/* Keys are filled like labels. */
static struct tensor *keys_of(struct case_build *c, const struct op_case *row,
                              const struct case_size *s)
{
    int64_t dim[] = {s->dim[0], AUGMENT_KEY_WORDS};
    struct tensor *keys =
        case_tensor(c, "keys", DTYPE_I32, LAYOUT_PLAIN, 2, dim,
                    row->fill == CASE_NO_LABELS ? CASE_NO_LABELS : CASE_LABELS);

    c->input[c->ninput - 1].classes = 251;
    return keys;
}

/* Images and their keys. */
static struct tensor *images(struct case_build *c, const struct op_case *row,
                             const struct case_size *s, struct tensor **keys)
{
    struct tensor *x = case_tensor(c, "x", DTYPE_U8, LAYOUT_IMAGE, 4, s->dim, CASE_BYTES);

    *keys = keys_of(c, row, s);
    return x;
}

static void output(struct case_build *c, struct tensor *y)
{
    struct normalize_attrs a = {.layer = "normalize"};

    for (int i = 0; i < NORMALIZE_CHANNELS; i++)
        a.std[i] = 1;
    case_output(c, normalize_(c->b, y, &a));
}

void case_patch_mask(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    struct patch_mask_attrs a = *(const struct patch_mask_attrs *)row->attrs;
    struct tensor *keys;

    if (s->dim[1]) {
        keys = keys_of(c, row, s);
    } else {
        keys = case_tensor(c, "labels", DTYPE_I32, LAYOUT_PLAIN, 1, s->dim, CASE_LABELS);
        c->input[c->ninput - 1].classes = 3;
    }
    a.layer = "mask";
    case_output(c, patch_mask_(c->b, keys, &a));
}

void case_flip(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct flip_attrs a = *(const struct flip_attrs *)row->attrs;
    struct tensor *keys, *x = images(c, row, s, &keys);

    a.layer = "flip";
    output(c, flip_(c->b, x, keys, &a));
}

/* Label maps of [N,C,H,W], C classes. */
void case_flip_labels(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct flip_attrs a = *(const struct flip_attrs *)row->attrs;
    struct tensor *x = case_pixel_labels(c, s->dim, CASE_HOLES);

    a.layer = "flip";
    case_output(c, flip_(c->b, x, keys_of(c, row, s), &a));
}

void case_color_jitter(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct color_jitter_attrs a = *(const struct color_jitter_attrs *)row->attrs;
    struct tensor *keys, *x = images(c, row, s, &keys);

    a.layer = "color_jitter";
    output(c, color_jitter_(c->b, x, keys, &a));
}

void case_erase(struct case_build *c, const struct op_case *row,
                const struct case_size *s)
{
    struct erase_attrs a = *(const struct erase_attrs *)row->attrs;
    struct tensor *keys, *x = images(c, row, s, &keys);

    a.layer = "erase";
    output(c, erase_(c->b, x, keys, &a));
}

/* Larger and smaller parts of images, each filter, flips, a border, and one unchanged
 * image. */
static void make_jobs(void *ptr, const struct tensor *t, const struct op_case *row)
{
    const struct resize_attrs *a = row->attrs;
    struct resize_job *job = ptr;

    for (int i = 0; i < (int)t->dim[0]; i++) {
        int w = 1 + (7 * i + 5) % (2 * a->width), h = 1 + (5 * i + 9) % (2 * a->height);
        int out = i % 3 == 2 && a->width > 2 ? a->width - 2 : a->width;

        job[i] = (struct resize_job){
            .x = {3, 3 + w, 3, 3 + w, out, 0, out},
            .y = {2.5, 2 + h, 2, 2 + h, a->height + 2, 1, a->height},
            .src_x = 3,
            .src_y = 2,
            .src_w = w,
            .src_h = h,
            .dst_x = (a->width - out) / 2,
            .filter = i % (RESIZE_LANCZOS + 1),
            .flip = i % 4 == 1,
            .resize = i % 7 != 6,
        };
    }
}

void case_resize(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    struct resize_attrs a = *(const struct resize_attrs *)row->attrs;
    int64_t place[] = {s->dim[0], resize_place(a.width, a.height, a.channels)};
    int64_t dim[] = {s->dim[0], RESIZE_JOB_WORDS};
    struct tensor *x = case_tensor(c, "x", DTYPE_U8, LAYOUT_PLAIN, 2, place, CASE_BYTES);
    struct tensor *jobs =
        case_tensor(c, "jobs", DTYPE_I32, LAYOUT_PLAIN, 2, dim, CASE_LABELS);

    c->input[c->ninput - 1].make = make_jobs;
    a.layer = "resize";
    output(c, resize_(c->b, x, jobs, &a));
}
