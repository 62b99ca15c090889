/* RandAugment against timm's; its parser and its random numbers; random erasing. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "image/policy.h"
#include "image/transformer.h"
#include "tests/image/image_formula.h"
#include "tests/test.h"

enum { W = 19, H = 15, BYTES = W * H * 3 };

struct golden {
    int32_t op, increasing, sign, bicubic;
    float magnitude;
};

/* Exact for color operations; within one gray level for geometric ones. */
static void operations_equal_timm(void **state)
{
    size_t len, pos = BYTES;
    char *data = file_read("tests/golden/image_policy/timm.bin", &len);
    uint8_t pixel[BYTES], scratch[BYTES];
    struct warp_canvas warp = {0};
    struct policy_canvas c = {.pixel = pixel,
                              .w = W,
                              .h = H,
                              .fill = {124, 116, 104},
                              .scratch = scratch,
                              .warp = &warp};
    int cases = 0;

    (void)state;
    assert_non_null(data);
    for (; pos < len; cases++) {
        struct golden g;
        int limit;

        memcpy(&g, data + pos, sizeof(g));
        pos += sizeof(g);
        limit = g.op == POLICY_ROTATE || g.op >= POLICY_SHEAR_X;
        memcpy(pixel, data, BYTES);
        policy_act(&c, (enum policy_op)g.op,
                   policy_argument(&c, (enum policy_op)g.op,
                                   g.increasing ? POLICY_INCREASING : POLICY_PLAIN,
                                   (double)g.magnitude, g.sign),
                   g.bicubic ? RESIZE_BICUBIC : RESIZE_BILINEAR);
        for (int i = 0; i < BYTES; i++, pos++)
            if (!(abs(pixel[i] - (uint8_t)data[pos]) <= limit))
                fail_msg(
                    "operation %d (increasing %d, sign %d, bicubic %d) at %g: byte %d "
                    "is %d, not %d",
                    g.op, g.increasing, g.sign, g.bicubic, (double)g.magnitude, i,
                    pixel[i], (uint8_t)data[pos]);
    }
    assert_int_equal(cases, 80);
    warp_canvas_release(&warp);
    free(data);
}

static void policies_are_parsed(void **state)
{
    struct policy p;
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(policy_parse(&p, "rand-m9-mstd0.5-inc1", &why), 0);
    assert_true(p.ops == 2 && p.magnitude == 9 && p.deviation == 0.5 && p.increasing);
    assert_true(p.bound == 10 && p.probability == 0.5);
    assert_int_equal(policy_parse(&p, "rand-n3-p0.7-mmax8-m7-mstd101", &why), 0);
    assert_true(p.ops == 3 && p.magnitude == 7 && p.deviation == 101 && !p.increasing);
    assert_true(p.bound == 8 && p.probability == 0.7);
    assert_int_equal(policy_parse(&p, "rand-inc0", &why), 0);
    assert_true(p.increasing && p.magnitude == 10);
    assert_int_equal(policy_parse(&p, "rand", &why), 0);
    assert_int_equal(policy_parse(&p, "none", &why), 0);
    assert_null(p.kind);
    assert_int_equal(policy_parse(&p, "", &why), 0);
    assert_null(p.kind);
    assert_int_equal(policy_parse(&p, "originalr-mstd0.5", &why), 0);
    assert_true(p.ops == 2 && p.deviation == 0.5 && p.bound == 10);
    assert_int_equal(policy_parse(&p, "ta_wide", &why), 0);
    assert_int_equal(p.ops, 1);
    assert_int_equal(why.len, 0);
}

static void bad_policies_are_refused(void **state)
{
    static const char *const bad[] = {
        "random",  "augmix-m3", "rand-",       "rand-m",   "rand-x3",    "rand-m9-",
        "rand-n0", "rand-p2",   "rand-m9junk", "rand-n99", "rand-m-9",   "rand-mstd",
        "v0-m9",   "v0-mstd",   "original-",   "v1",       "ta_wide-n2", "ta"};
    struct policy p;
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        strbuf_reset(&why);
        if (policy_parse(&p, bad[i], &why) != -1 || !strstr(why.buf, bad[i]))
            fail_msg("'%s': '%s'", bad[i], why.buf);
    }
    strbuf_release(&why);
}

/* With p = 0.5 and n = 2 a quarter of the images stays unchanged, and few others do. */
static void policies_are_drawn(void **state)
{
    struct policy p;
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    struct warp_canvas warp = {0};
    uint8_t scratch[BYTES], first[BYTES];
    int same = 0, n = 4000;

    (void)state;
    assert_int_equal(policy_parse(&p, "rand-m9-mstd0.5-inc1", &why), 0);
    for (int s = 0; s < n; s++) {
        struct augment_key key = {6, 1, s};
        struct policy_canvas c = {.w = W, .h = H, .scratch = scratch, .warp = &warp};

        image_formula(&img, W, H);
        memcpy(first, img.pixel, BYTES);
        c.pixel = img.pixel;
        policy_apply(&p, &key, &c, RESIZE_BICUBIC, true);
        same += memcmp(first, img.pixel, BYTES) == 0;
    }
    assert_true(same > n * 0.23 && same < n * 0.33);
    image_release(&img);
    warp_canvas_release(&warp);
}

/* Each pair of AutoAugment with its probabilities, and timm's arguments of its
 * magnitudes, for both signs. */
static void pairs_are_timms(void **state)
{
    const struct policy_canvas c = {.w = 200, .h = 100};
    struct policy p;
    struct strbuf why = STRBUF_INIT;
    char name[16];
    int pair, member, op, lines = 0;
    double probability, plus, minus;
    FILE *f = fopen("tests/golden/image_policy/pairs.txt", "r");

    (void)state;
    assert_non_null(f);
    while (fscanf(f, "%15s %d %d %d %lf %lf %lf", name, &pair, &member, &op, &probability,
                  &plus, &minus) == 7) {
        const struct policy_member *m;

        assert_int_equal(policy_parse(&p, name, &why), 0);
        m = &p.kind->pairs[pair].member[member];
        assert_int_equal(m->op, op);
        assert_true(fabs((double)m->probability - probability) < 1e-6);
        for (int sign = -1; sign <= 1; sign += 2) {
            double got = policy_argument(&c, m->op, p.kind->levels, m->magnitude, sign);

            if (!(fabs(got - (sign > 0 ? plus : minus)) < 1e-9))
                fail_msg("%s, pair %d, member %d: %g", name, pair, member, got);
        }
        lines++;
    }
    assert_int_equal(lines, 4 * POLICY_PAIRS * 2);
    (void)fclose(f);
}

/* Exact for color operations; within one gray level for geometric ones. */
static void trivial_operations_equal_torchvision(void **state)
{
    size_t len, pos = BYTES;
    char *data = file_read("tests/golden/image_policy/torchvision.bin", &len);
    uint8_t pixel[BYTES], scratch[BYTES];
    struct warp_canvas warp = {0};
    struct policy_canvas c = {
        .pixel = pixel, .w = W, .h = H, .scratch = scratch, .warp = &warp};
    int cases = 0;

    (void)state;
    assert_non_null(data);
    for (; pos < len; cases++) {
        int32_t g[3]; /* choice, bin, sign */
        double argument;
        enum policy_op op;
        int limit;

        memcpy(g, data + pos, sizeof(g));
        pos += sizeof(g);
        op = policy_trivial_op(g[0], g[1], g[2], &argument);
        limit = op == POLICY_ROTATE || op == POLICY_SHEAR_X || op == POLICY_SHEAR_Y;
        memcpy(pixel, data, BYTES);
        policy_act(&c, op, argument, RESIZE_BILINEAR);
        for (int i = 0; i < BYTES; i++, pos++)
            if (!(abs(pixel[i] - (uint8_t)data[pos]) <= limit))
                fail_msg("choice %d, bin %d, sign %d: byte %d is %d, not %d", g[0], g[1],
                         g[2], i, pixel[i], (uint8_t)data[pos]);
    }
    assert_true(cases > 60);
    warp_canvas_release(&warp);
    free(data);
}

/* All 14 operations are equally likely, and a policy is a function of its key. */
static void trivial_choices_are_drawn(void **state)
{
    int seen[POLICY_TRIVIAL_OPS] = {0}, n = 14000;

    (void)state;
    for (int s = 0; s < n; s++) {
        struct augment_key key = {6, 1, s};
        struct policy_draw d = policy_draw(&key, 0, RESIZE_BILINEAR, false);

        seen[philox_below(d.choice, POLICY_TRIVIAL_OPS)]++;
    }
    for (int i = 0; i < POLICY_TRIVIAL_OPS; i++)
        assert_true(seen[i] > 850 && seen[i] < 1150);
}

static const double mean[3] = {0.485, 0.456, 0.406}, std[3] = {0.229, 0.224, 0.225};

static void boxes_have_their_distribution(void **state)
{
    static struct erase e;
    static struct augment_box b[ERASE_COUNT];
    double area = 0, aspect = 0;
    int n = 20000, found = 0, counts[5] = {0};

    (void)state;
    erase_init(&e, 0.25, ERASE_PIXEL, 1, mean, std);
    for (int s = 0; s < n; s++) {
        struct augment_key key = {8, 2, s};

        if (!erase_boxes(&e, &key, 224, 200, b))
            continue;
        found++;
        assert_true(b->x >= 0 && b->y >= 0 && b->w > 0 && b->h > 0);
        assert_true(b->w < 224 && b->h < 200 && b->x + b->w <= 224 && b->y + b->h <= 200);
        area += b->w * b->h / (224.0 * 200);
        aspect += log((double)b->h / b->w);
    }
    assert_true(fabs(found / (double)n - 0.25) < 0.01);
    assert_true(fabs(area / found - 0.1757) < 0.005); /* a few large ones do not fit */
    assert_true(fabs(aspect / found) < 0.03);
    erase_init(&e, 1, ERASE_CONST, 4, mean, std);
    area = 0;
    for (int s = 0; s < 4000; s++) {
        struct augment_key key = {8, 2, s};
        int boxes = erase_boxes(&e, &key, 224, 224, b);

        counts[boxes]++;
        for (int k = 0; k < boxes; k++) /* the boxes share the area of one */
            area += b[k].w * b[k].h / (224.0 * 224) / 4000;
    }
    assert_true(fabs(area - 0.1765) < 0.005);
    for (int k = 1; k <= 4; k++)
        assert_true(counts[k] > 900 && counts[k] < 1100);
}

/* Pixels outside the box stay; inside, the normalized values are nearly N(0, 1). */
static void boxes_are_filled_with_noise(void **state)
{
    enum { SIDE = 96 };
    static struct erase e;
    static struct augment_box b[ERASE_COUNT];
    static uint8_t rgb[SIDE * SIDE * 3];
    double sum = 0, squares = 0, cross = 0, last = 0, n = 0;

    (void)state;
    erase_init(&e, 1, ERASE_PIXEL, 1, mean, std);
    for (int s = 0; s < 30; s++) {
        struct augment_key key = {8, 3, s};

        memset(rgb, 1, sizeof(rgb));
        erase_apply(&e, &key, rgb, SIDE, SIDE);
        assert_int_equal(erase_boxes(&e, &key, SIDE, SIDE, b), 1);
        for (int i = 0; i < SIDE * SIDE * 3; i++) {
            int x = i / 3 % SIDE, y = i / 3 / SIDE, c = i % 3;
            bool inside = x >= b->x && x < b->x + b->w && y >= b->y && y < b->y + b->h;
            double z = (rgb[i] / 255.0 - mean[c]) / std[c];

            if (!inside) {
                assert_int_equal(rgb[i], 1);
                continue;
            }
            n++;
            sum += z;
            squares += z * z;
            cross += z * last;
            last = z;
        }
    }
    assert_true(fabs(sum / n) < 0.02);
    assert_true(fabs(squares / n - 0.95) < 0.03); /* less than 1: the tails are clipped */
    assert_true(fabs(cross / n) < 0.02);
}

static void boxes_of_one_color(void **state)
{
    static struct erase e;
    static struct augment_box b[ERASE_COUNT];
    uint8_t rgb[40 * 40 * 3], seen[3] = {0};
    struct augment_key key = {8, 3, 5};

    (void)state;
    for (int mode = ERASE_RAND; mode <= ERASE_CONST; mode++) {
        erase_init(&e, 1, (enum erase_mode)mode, 1, mean, std);
        memset(rgb, 1, sizeof(rgb));
        erase_apply(&e, &key, rgb, 40, 40);
        assert_int_equal(erase_boxes(&e, &key, 40, 40, b), 1);
        for (int y = b->y; y < b->y + b->h; y++)
            for (int x = b->x; x < b->x + b->w; x++)
                assert_memory_equal(rgb + (y * 40 + x) * 3, rgb + (b->y * 40 + b->x) * 3,
                                    3);
        memcpy(seen, rgb + (b->y * 40 + b->x) * 3, 3);
    }
    assert_int_equal(seen[0], 124); /* the mean: 0 after normalization */
    assert_int_equal(seen[1], 116);
    assert_int_equal(seen[2], 104);
}

/* Adding one augmentation does not change the random numbers of the others. */
static void augmentations_are_independent(void **state)
{
    struct transform plain = transform_for_training(32), erased = plain;
    struct augment_key key = {1, 2, 3};
    static uint8_t a[32 * 32 * 3], c[32 * 32 * 3];
    static struct augment_box b[ERASE_COUNT];
    struct transformer m;
    struct image img = {0};
    int differ = 0;

    (void)state;
    erase_init(&erased.erase, 1, ERASE_PIXEL, 1, mean, std);
    transformer_init(&m, NULL);
    image_formula(&img, 90, 70);
    transform_image(&m, &plain, &key, &img, a);
    transform_image(&m, &erased, &key, &img, c);
    assert_int_equal(erase_boxes(&erased.erase, &key, 32, 32, b), 1);
    for (int i = 0; i < 32 * 32 * 3; i++) {
        int x = i / 3 % 32, y = i / 96;

        if (x >= b->x && x < b->x + b->w && y >= b->y && y < b->y + b->h)
            differ += a[i] != c[i];
        else
            assert_int_equal(a[i], c[i]);
    }
    assert_true(differ > 0);
    image_release(&img);
    transformer_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_equal_timm),
        cmocka_unit_test(policies_are_parsed),
        cmocka_unit_test(bad_policies_are_refused),
        cmocka_unit_test(policies_are_drawn),
        cmocka_unit_test(pairs_are_timms),
        cmocka_unit_test(trivial_operations_equal_torchvision),
        cmocka_unit_test(trivial_choices_are_drawn),
        cmocka_unit_test(boxes_have_their_distribution),
        cmocka_unit_test(boxes_are_filled_with_noise),
        cmocka_unit_test(boxes_of_one_color),
        cmocka_unit_test(augmentations_are_independent),
    };

    return cmocka_run_group_tests_name("image_policy", tests, NULL, NULL);
}
