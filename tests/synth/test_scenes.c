/* Generated scenes: pure functions of their arguments, labels of known classes, folders
 * that DATA.DATASET cityscapes reads. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "dataset/class_set.h"
#include "dataset/label.h"
#include "dataset/table.h"
#include "synth/scenes.h"
#include "tests/make_folder.h"
#include "tests/test.h"

enum { W = 96, H = 48, PIXELS = W * H };

static void draw(uint8_t *rgb, uint8_t *id, uint64_t seed, uint32_t split,
                 uint32_t number)
{
    struct synth_scene p = {seed, split, number, W, H};

    synth_scene_draw(&p, rgb, id);
}

static void pure_and_different(void **state)
{
    static uint8_t a[PIXELS * 3], b[PIXELS * 3], ia[PIXELS], ib[PIXELS];

    (void)state;
    draw(a, ia, 1, 0, 5);
    draw(b, ib, 1, 0, 5);
    assert_memory_equal(a, b, sizeof(a));
    assert_memory_equal(ia, ib, sizeof(ia));
    for (int i = 0; i < 3; i++) {
        draw(b, ib, i == 0 ? 2 : 1, i == 1, i == 2 ? 6 : 5);
        assert_true(memcmp(a, b, sizeof(a)) != 0);
        assert_true(memcmp(ia, ib, sizeof(ia)) != 0);
    }
}

/* Every pixel has a label of Cityscapes, and a few scenes show all kinds of objects. */
static void every_pixel_is_labelled(void **state)
{
    static uint8_t rgb[PIXELS * 3], id[PIXELS];
    static const uint8_t wanted[] = {1, 7, 8, 11, 17, 19, 20, 21, 22, 23, 24, 26};
    int seen[256] = {0}, kinds = 0;

    (void)state;
    for (uint32_t n = 0; n < 30; n++) {
        memset(id, 200, sizeof(id));
        draw(rgb, id, 0, 0, n);
        for (int p = 0; p < PIXELS; p++)
            seen[id[p]]++;
    }
    for (int v = 0; v < 256; v++)
        kinds += seen[v] > 0;
    for (size_t i = 0; i < sizeof(wanted); i++)
        assert_true(seen[wanted[i]] > 30);
    assert_int_equal(kinds, (int)sizeof(wanted));
}

static int run(char *out)
{
    struct cmd_word arg = {"scenes", "argument 1"};
    struct cfgnode_pair pair[] = {{"--out", out, ""},
                                  {"--train", "5", ""},
                                  {"--val", "2", ""},
                                  {"--size", "64", ""}};
    struct cmdline line = {.arg = &arg, .narg = 1, .command = pair, .ncommand = 4};
    struct config cfg = {.seed = 3};

    log_level_set(LOG_WARNING);
    return cmd_synth.run(&cfg, &line);
}

/* Ids and train ids are read as the same classes. */
static void folders_are_cityscapes(void **state)
{
    char *root = make_temp_dir(), *out = path_join(root, "scenes");
    struct image_limits limits = image_limits_or_default(NULL);
    struct dataset_bytes bytes = {0};
    struct label_reader r[2] = {{0}, {0}};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(run(out), 0);
    for (int split = 0; split < 2; split++) {
        struct dataset *d[2];

        for (int t = 0; t < 2; t++)
            d[t] = dataset_open("cityscapes",
                                &(struct dataset_source){
                                    .path = out,
                                    .split = split ? "val" : "train",
                                    .labels = {.set = class_set_find("cityscapes19"),
                                               .classes = 19,
                                               .train_ids = t},
                                });
        assert_int_equal(d[0]->n, split ? 2 : 5);
        for (int64_t i = 0; i < d[0]->n; i++) {
            for (int t = 0; t < 2; t++)
                if (dataset_label_map(d[t], i, &limits, &bytes, &r[t], &why) < 0)
                    fail_msg("%s", why.buf);
            assert_true(r[0].w == 64 && r[0].h == 32);
            assert_memory_equal(r[0].pixel, r[1].pixel, 64 * 32);
        }
        dataset_close(d[0]);
        dataset_close(d[1]);
    }
    label_reader_release(&r[0]);
    label_reader_release(&r[1]);
    dataset_bytes_release(&bytes);
    free(out);
    remove_temp_dir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pure_and_different),
        cmocka_unit_test(every_pixel_is_labelled),
        cmocka_unit_test(folders_are_cityscapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
