/* Lists of augmentations: each operation against torchvision's, and label maps against
 * their images. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/clahe.h"
#include "image/transformer.h"
#include "image/warp.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

enum { W = 24, H = 18, BYTES = W * H * 3, CASES = 56 };

struct golden {
    char name[16];
    double value[4];
    int32_t bicubic, label;
};

static struct augment_item item_of(const char *name, double p)
{
    struct augment_item item = {.op = augment_op_find(name), .p = p};

    if (!item.op)
        fail_msg("there is no operation '%s'", name);
    for (int k = 0; k < AUGMENT_OP_FIELDS; k++)
        item.value[k] = item.op->field[k].def;
    return item;
}

/* Sets the corners of a case, which no range of the operation could produce. */
static void perspective(const struct golden *g, double m[9])
{
    double corner[4][2];

    for (int k = 0; k < 4; k++) {
        double x = fmod(g->value[k], 1000), y = floor(g->value[k] / 1000);

        corner[k][0] = k == 1 || k == 2 ? W - 1 - x : x;
        corner[k][1] = k >= 2 ? H - 1 - y : y;
    }
    warp_corners(m, W, H, corner);
}

static void make_image(const struct golden *g, uint8_t *pixel)
{
    uint8_t scratch[BYTES];
    struct warp_canvas warp = {0};
    struct policy_canvas c = {
        .pixel = pixel, .w = W, .h = H, .fill = {124, 116, 104}, .scratch = scratch};
    struct augment_list l = {.n = 1, .item = {item_of(g->name, 1)}};
    double m[9];

    c.warp = &warp;
    for (int k = 0; k < 4 && !isnan(g->value[k]); k++)
        l.item[0].value[k] = (struct augment_range){g->value[k], g->value[k]};
    if (strcmp(g->name, "perspective") != 0) {
        augment_list_apply(&l, &(struct augment_key){1, 2, 3}, &c,
                           g->bicubic ? RESIZE_BICUBIC : RESIZE_BILINEAR, false);
    } else {
        perspective(g, m);
        warp_projective(&warp, pixel, W, H, m, g->bicubic ? WARP_BICUBIC : WARP_BILINEAR,
                        c.fill);
    }
    warp_canvas_release(&warp);
}

static void make_label(const struct golden *g, const uint8_t *src, uint8_t *dst)
{
    struct augment_list l = {.n = 1, .item = {item_of(g->name, 1)}};
    struct augment_maps maps;

    for (int k = 0; k < 4 && !isnan(g->value[k]); k++)
        l.item[0].value[k] = (struct augment_range){g->value[k], g->value[k]};
    augment_list_maps(&l, &(struct augment_key){1, 2, 3}, W, H, &maps);
    assert_int_equal(maps.n, 1);
    if (!strcmp(g->name, "perspective"))
        perspective(g, maps.m[0]);
    for (int i = 0; i < W * H; i++) {
        int x = i % W, y = i / W;

        dst[i] = augment_maps_source(&maps, W, H, &x, &y) ? src[y * W + x] : LABEL_IGNORE;
    }
}

/* Exact for colors and label maps; within one gray level for what is interpolated. */
static void operations_equal_torchvision(void **state)
{
    size_t len, pos = 2 * BYTES + W * H;
    char *data = file_read("tests/golden/image_augment/torchvision.bin", &len);
    const uint8_t *golden = (const uint8_t *)data, *label = golden + 2 * (size_t)BYTES;
    int cases = 0;

    (void)state;
    assert_non_null(data);
    for (; pos < len; cases++) {
        uint8_t pixel[BYTES];
        struct golden g;
        bool moves;
        int limit;

        memcpy(&g, data + pos, sizeof(g));
        pos += sizeof(g);
        moves = augment_op_find(g.name) && augment_op_find(g.name)->map;
        limit = !g.label && (moves || !strcmp(g.name, "blur"));
        memcpy(pixel, golden + (moves ? BYTES : 0), BYTES);
        if (g.label)
            make_label(&g, label, pixel);
        else
            make_image(&g, pixel);
        for (int i = 0; i < (g.label ? W * H : BYTES); i++, pos++)
            if (!(abs(pixel[i] - golden[pos]) <= limit))
                fail_msg("%s (%g, %g, %g, %g; bicubic %d, label %d): value %d is %d, not "
                         "%d",
                         g.name, g.value[0], g.value[1], g.value[2], g.value[3],
                         g.bicubic, g.label, i, pixel[i], golden[pos]);
    }
    assert_int_equal(cases, CASES);
    free(data);
}

static const char *read_bytes(const char *src, void *dst, size_t n)
{
    memcpy(dst, src, n);
    return src + n;
}

/* Exact for gray images; the conversion from CIELAB is not OpenCV's. */
static void clahe_equals_opencv(void **state)
{
    static uint8_t pixel[50 * 33 * 3], scratch[50 * 33 * 3];
    size_t len;
    char *data = file_read("tests/golden/image_augment/clahe.bin", &len);
    const char *cursor = data;
    struct warp_canvas warp = {0};

    (void)state;
    assert_non_null(data);
    while (cursor < data + len) {
        struct {
            double limit;
            int32_t tiles, w, h, gray;
        } g;
        struct policy_canvas c = {.pixel = pixel, .scratch = scratch, .warp = &warp};
        int n, step, worst = 0, sum = 0;

        cursor = read_bytes(cursor, &g, sizeof(g));
        c.w = g.w;
        c.h = g.h;
        c.gray = g.gray;
        step = g.gray ? 3 : 1;
        n = g.w * g.h * 3 / step;
        for (int i = 0; i < n * step; i++)
            pixel[i] = (uint8_t)cursor[i / step];
        cursor += n;
        clahe(&c, g.limit, g.tiles);
        for (int i = 0; i < n; i++) {
            int d = abs(pixel[step * i] - (uint8_t)cursor[i]);

            worst = d > worst ? d : worst;
            sum += d;
        }
        cursor += n;
        if (!(worst <= (g.gray ? 0 : 2) && sum <= (g.gray ? 0 : n / 5)))
            fail_msg(
                "limit %g, %d tiles, %d x %d, gray %d: differs by %d, by %g on average",
                g.limit, g.tiles, g.w, g.h, g.gray, worst, (double)sum / n);
    }
    warp_canvas_release(&warp);
    free(data);
}

/* A third of the images each: gray, solarized, blurred. */
static void three_are_drawn(void **state)
{
    struct augment_list l = {.n = 1, .item = {item_of("three_augment", 1)}};
    struct warp_canvas warp = {0};
    int gray = 0, solar = 0;

    (void)state;
    for (int s = 0; s < 300; s++) {
        uint8_t pixel[12], scratch[12];
        struct policy_canvas c = {
            .pixel = pixel, .w = 2, .h = 2, .scratch = scratch, .warp = &warp};

        for (int i = 0; i < 12; i++)
            pixel[i] = (uint8_t)(i % 3 ? 30 : 200);
        augment_list_apply(&l, &(struct augment_key){3, 0, s}, &c, RESIZE_BICUBIC, false);
        gray += pixel[0] == pixel[1];
        solar += pixel[0] == 55;
    }
    assert_true(gray > 70 && gray < 130 && solar > 70 && solar < 130);
    warp_canvas_release(&warp);
}

/* ---- whole transforms -------------------------------------------------------------- */

/* Appends the operations that move pixels, with probability 0.7. */
static void add_moves(struct augment_list *l)
{
    for (const struct augment_op *o = augment_ops; o->name; o++)
        if (o->map)
            l->item[l->n++] = item_of(o->name, 0.7);
    for (int i = 0; i < l->n; i++)
        if (l->item[i].op->needless) {
            l->item[i].value[0] = (struct augment_range){-20, 20};
            l->item[i].value[1] = (struct augment_range){-0.1, 0.1};
            l->item[i].value[2] = (struct augment_range){0.7, 1.3};
            l->item[i].value[3] = (struct augment_range){-10, 10};
        }
}

/* Large squares, bright for class 1; the outside is black, and ignored. */
static void label_follows_image(void **state)
{
    enum { IW = 96, IH = 64, OW = 80, OH = 56, D = 4 };
    struct transform t = transform_for_segmentation(OW, OH);
    struct transformer m;
    struct image img = {0};
    uint8_t label[IW * IH], out[OW * OH], small[OW * OH / D / D], pixel[OW * OH * 3];
    int right = 0, seen[3] = {0};

    (void)state;
    image_resize_reserve(&img, IW, IH);
    for (int i = 0; i < IW * IH; i++) {
        label[i] = (uint8_t)((i % IW / 24 + i / IW / 21) % 2);
        memset(img.pixel + (ptrdiff_t)i * 3, label[i] ? 250 : 90, 3);
    }
    transformer_init(&m, NULL);
    add_moves(&t.list);
    for (int s = 0; s < 60; s++) {
        struct augment_key key = {5, 1, s};

        t.label_divisor = 1;
        transform_image(&m, &t, &key, &img, pixel);
        transform_label(&m, &t, &key, label, IW, IH, out);
        for (int i = 0; i < OW * OH; i++) {
            int v = pixel[3 * i], is = out[i] == LABEL_IGNORE ? 2 : out[i];

            seen[is]++;
            right += (v < 45 ? 2 : v > 170) == is;
        }
        t.label_divisor = D;
        transform_label(&m, &t, &key, label, IW, IH, small);
        for (int i = 0; i < OW * OH / D / D; i++)
            assert_int_equal(
                small[i],
                out[(i / (OW / D) * D + D / 2) * OW + i % (OW / D) * D + D / 2]);
    }
    /* except pixels on edges, which are blends */
    if (!(right > 60 * OW * OH * 93 / 100))
        fail_msg("%d of %d pixels have the label of their color", right, 60 * OW * OH);
    assert_true(seen[0] > 20000 && seen[1] > 20000 && seen[2] > 20000);
    image_release(&img);
    transformer_release(&m);
}

/* The words of an item differ, and those of another item, sample, or epoch. */
static void words_differ(void **state)
{
    struct augment_key keys[] = {{9, 4, 7}, {9, 4, 8}, {9, 5, 7}};
    uint32_t word[4 * 25];
    int n = 0;

    (void)state;
    for (int k = 0; k < 4; k++) {
        struct augment_words r = augment_words_of(&keys[k % 3], k / 3);

        for (int i = 0; i < 25; i++)
            word[n++] = augment_word(&r);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_true(word[i] != word[k]);
}

/* Items are applied in order, each with its own probability; the same key gives the same
 * image. */
static void items_are_drawn(void **state)
{
    enum { N = 2000 };
    struct augment_list l = {.n = 2,
                             .item = {item_of("invert", 0.5), item_of("solarize", 0.25)}};
    struct warp_canvas warp = {0};
    int seen[4] = {0};

    (void)state;
    for (int s = 0; s < N; s++) {
        uint8_t pixel[3] = {100, 100, 100}, again[3] = {100, 100, 100}, scratch[3];
        struct policy_canvas c = {
            .pixel = pixel, .w = 1, .h = 1, .scratch = scratch, .warp = &warp};
        struct augment_key key = {9, 4, s};

        augment_list_apply(&l, &key, &c, RESIZE_BILINEAR, false);
        c.pixel = again;
        augment_list_apply(&l, &key, &c, RESIZE_BILINEAR, false);
        assert_memory_equal(pixel, again, 3);
        /* 100 -> invert 155 -> solarize 100; solarize leaves 100 */
        seen[pixel[0] == 155 ? 1 : 0]++;
    }
    assert_true(seen[1] > N * 0.34 && seen[1] < N * 0.41); /* 0.5 * 0.75 */
    l.item[0].p = 0;
    l.item[1].p = 1;
    l.item[1].value[0] = (struct augment_range){50, 50};
    for (int s = 0; s < 20; s++) {
        uint8_t pixel[3] = {100, 20, 50}, scratch[3];
        struct policy_canvas c = {
            .pixel = pixel, .w = 1, .h = 1, .scratch = scratch, .warp = &warp};

        augment_list_apply(&l, &(struct augment_key){9, 4, s}, &c, RESIZE_BILINEAR,
                           false);
        assert_memory_equal(pixel, ((uint8_t[]){155, 20, 205}), 3);
    }
}

static void noise_is_normal(void **state)
{
    enum { SIDE = 100, N = SIDE * SIDE * 3 };
    static uint8_t pixel[N], scratch[N];
    struct augment_list l = {.n = 1, .item = {item_of("noise", 1)}};
    struct policy_canvas c = {.pixel = pixel, .w = SIDE, .h = SIDE, .scratch = scratch};
    double sum = 0, squares = 0;

    (void)state;
    l.item[0].value[0] = (struct augment_range){0.04, 0.04};
    memset(pixel, 128, N);
    augment_list_apply(&l, &(struct augment_key){7, 0, 1}, &c, RESIZE_BILINEAR, false);
    for (int i = 0; i < N; i++) {
        double d = pixel[i] - 128;

        sum += d;
        squares += d * d;
    }
    assert_true(fabs(sum / N) < 0.3);
    assert_true(fabs(sqrt(squares / N) - 0.04 * 255) < 0.2);
    c.gray = true;
    memset(pixel, 128, N);
    augment_list_apply(&l, &(struct augment_key){7, 0, 2}, &c, RESIZE_BILINEAR, false);
    for (int i = 0; i < N; i += 3)
        assert_true(pixel[i] == pixel[i + 1] && pixel[i] == pixel[i + 2]);
}

/* Holes have the mean color and the size of the fields; the label map stays. */
static void holes_are_boxes(void **state)
{
    enum { SIDE = 50, N = SIDE * SIDE };
    struct transform t = transform_for_segmentation(SIDE, SIDE);
    struct transformer m;
    struct image img = {0};
    uint8_t pixel[N * 3], label[N], out[N];
    bool moved = false;
    int first = -1;

    (void)state;
    image_resize_reserve(&img, SIDE, SIDE);
    memset(img.pixel, 200, (size_t)N * 3);
    for (int i = 0; i < N; i++)
        label[i] = (uint8_t)(i % 19);
    transformer_init(&m, NULL);
    memcpy(t.fill, (uint8_t[]){1, 2, 3}, 3);
    t.list = (struct augment_list){.n = 1, .item = {item_of("coarse_dropout", 1)}};
    t.list.item[0].value[0] = (struct augment_range){1, 1};
    t.list.item[0].value[1] = (struct augment_range){0.2, 0.2};
    for (int s = 0; s < 30; s++) {
        struct augment_key key = {2, 0, s};
        int filled = 0, pos = -1;

        transform_image(&m, &t, &key, &img, pixel);
        transform_label(&m, &t, &key, label, SIDE, SIDE, out);
        assert_memory_equal(out, label, N);
        for (int i = 0; i < N; i++) {
            bool is_filled = !memcmp(pixel + (ptrdiff_t)3 * i, t.fill, 3);

            pos = is_filled && pos < 0 ? i : pos;
            filled += is_filled;
            if (is_filled)
                assert_true(i % SIDE - pos % SIDE >= 0 && i % SIDE - pos % SIDE < 10);
        }
        assert_int_equal(filled, 100);
        moved |= first >= 0 && pos != first;
        first = pos;
    }
    assert_true(moved);
    image_release(&img);
    transformer_release(&m);
}

/* Images of every size can be blurred and shifted. */
static void small_images(void **state)
{
    struct augment_list l = {0};
    struct warp_canvas warp = {0}, more = {0};

    (void)state;
    for (const struct augment_op *o = augment_ops; o->name; o++)
        l.item[l.n++] = item_of(o->name, 0.9);
    for (int s = 0; s < 300; s++) {
        uint8_t pixel[75], scratch[75];
        struct policy_canvas c = {.pixel = pixel,
                                  .w = 1 + s % 5,
                                  .h = 1 + s / 5 % 5,
                                  .scratch = scratch,
                                  .warp = &warp,
                                  .more = &more};

        memset(pixel, s, sizeof(pixel));
        augment_list_apply(&l, &(struct augment_key){3, 0, s}, &c, RESIZE_BICUBIC, s & 1);
    }
    warp_canvas_release(&warp);
    warp_canvas_release(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_torchvision),
        cmocka_unit_test(three_are_drawn),
        cmocka_unit_test(clahe_equals_opencv),
        cmocka_unit_test(label_follows_image),
        cmocka_unit_test(words_differ),
        cmocka_unit_test(items_are_drawn),
        cmocka_unit_test(noise_is_normal),
        cmocka_unit_test(holes_are_boxes),
        cmocka_unit_test(small_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
