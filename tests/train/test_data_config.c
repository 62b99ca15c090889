/* Loader options that follow from DATA, AUG, and TEST keys. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hostmem.h"
#include "dataset/table.h"
#include "tests/config_init.h"
#include "tests/make_folder.h"
#include "tests/test.h"
#include "train/data_config.h"

static void training_defaults_are_swins(void **state)
{
    struct config cfg;
    static struct loader_options o;

    (void)state;
    config_init(&cfg);
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(o.transform.kind, TRANSFORM_RANDOM_CROP);
    assert_int_equal(o.transform.w, 224);
    assert_int_equal(o.transform.filter, RESIZE_BICUBIC);
    assert_true(o.transform.scale[0] == 0.08 && o.transform.ratio[0] == 0.75);
    assert_true(o.transform.flip.probability == 0.5);
    assert_int_equal(o.transform.policy.ops, 2);
    assert_true(o.transform.jitter[0] == 0); /* the policy replaces it */
    assert_int_equal(o.transform.fill[0], 124);
    assert_int_equal(o.transform.fill[2], 104);
    assert_true(o.transform.erase.probability == 0.25);
    assert_int_equal(o.transform.erase.mode, ERASE_PIXEL);
    assert_int_equal(o.batch, 128);
    assert_int_equal(o.workers, 8);
    assert_int_equal(o.prefetch, 4);
    assert_true(o.shuffle && o.drop_last);
    config_set(&cfg, "DATA.SHUFFLE", "False");
    config_set(&cfg, "DATA.DROP_LAST", "False");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_true(!o.shuffle && !o.drop_last);
    assert_true(o.max_bad_share == 0.01 && o.on_error == LOADER_SKIP);
    assert_int_equal(o.limits.max_pixels, 178956970);
    assert_int_equal(o.cache_bytes, 0);
    config_release(&cfg);
}

static void keys_reach_the_loader(void **state)
{
    struct config cfg;
    static struct loader_options o;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.IMG_SIZE", "32");
    config_set(&cfg, "DATA.ON_ERROR", "fail");
    config_set(&cfg, "DATA.NUM_WORKERS", "0");
    config_set(&cfg, "DATA.INTERPOLATION", "bilinear");
    config_set(&cfg, "DATA.PREFETCH", "6");
    config_set(&cfg, "DATA.MAX_PIXELS", "1000");
    config_set(&cfg, "DATA.MAX_BYTES", "2000");
    config_set(&cfg, "SEED", "77");
    config_set(&cfg, "AUG.PAD_CROP", "5");
    config_set(&cfg, "AUG.AUTO_AUGMENT", "none");
    config_set(&cfg, "AUG.REMODE", "const");
    config_set(&cfg, "AUG.RECOUNT", "3");
    config_set(&cfg, "AUG.HFLIP", "0.25");
    config_set(&cfg, "AUG.HFLIP_MODE", "alternate");
    config_set(&cfg, "AUG.PAD_MODE", "edge");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(o.transform.kind, TRANSFORM_PAD_CROP);
    assert_int_equal(o.transform.pad, 5);
    assert_int_equal(o.transform.h, 32);
    assert_int_equal(o.transform.filter, RESIZE_BILINEAR);
    assert_int_equal(o.transform.policy.ops, 0);
    assert_true(o.transform.jitter[2] == 0.4);
    assert_int_equal(o.transform.erase.mode, ERASE_CONST);
    assert_int_equal(o.transform.erase.count, 3);
    assert_true(o.transform.flip.probability == 0.25 && o.transform.flip.alternate);
    assert_int_equal(o.transform.pad_mode, PAD_EDGE);
    assert_int_equal(o.on_error, LOADER_FAIL);
    assert_int_equal(o.workers, 0);
    assert_int_equal(o.prefetch, 6);
    assert_true(o.limits.max_pixels == 1000 && o.limits.max_bytes == 2000);
    assert_int_equal(o.seed, 77);
    config_release(&cfg);
}

static void list_reaches_the_loader(void **state)
{
    struct config cfg;
    static struct loader_options o;
    const struct augment_list *l = &o.transform.list;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "AUG.ON_DEVICE", "True");
    config_set(&cfg, "AUG.LIST",
               "[{name: rotate, degrees: 20}, {name: blur, sigma: 1.5, p: 0.2}, "
               "{name: affine, scale: [0.5, 2], degrees: [0, 9]}]");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(l->n, 3);
    assert_string_equal(l->item[0].op->name, "rotate");
    assert_true(l->item[0].p == 0.5 && l->item[1].p == 0.2);
    assert_true(l->item[0].value[0].lo == -20 && l->item[0].value[0].hi == 20);
    assert_true(l->item[1].value[0].lo == 1.5 && l->item[1].value[0].hi == 1.5);
    assert_true(l->item[2].value[0].lo == 0 && l->item[2].value[0].hi == 9);
    assert_true(l->item[2].value[1].lo == 0 && l->item[2].value[1].hi == 0);
    assert_true(l->item[2].value[2].lo == 0.5 && l->item[2].value[2].hi == 2);
    assert_true(o.transform.flip.probability == 0 && !o.transform.policy.kind);
    assert_true(o.transform.jitter[0] == 0 && !(o.transform.erase.probability > 0));
    assert_int_equal(o.transform.fill[0], 124);
    data_loader_options(&cfg, DATA_VAL, &o);
    assert_int_equal(l->n, 0);
    config_release(&cfg);
}

static void crop_modes_reach_the_loader(void **state)
{
    struct config cfg;
    static struct loader_options o;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "AUG.PAD_CROP", "5");
    config_set(&cfg, "AUG.HFLIP", "0.25");
    config_set(&cfg, "DATA.INTERPOLATION", "bilinear");
    config_set(&cfg, "AUG.CROP_MODE", "none");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(o.transform.kind, TRANSFORM_CENTER);
    assert_true(o.transform.flip.probability == 0.25 && o.shuffle);
    assert_true(!o.transform.filter_random);
    config_set(&cfg, "AUG.CROP_MODE", "rrc");
    config_set(&cfg, "AUG.INTERPOLATION", "random");
    config_set(&cfg, "AUG.SCALE", "[0.2, 0.9]");
    config_set(&cfg, "AUG.RATIO", "[0.5, 2.5]");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(o.transform.kind, TRANSFORM_RANDOM_CROP);
    assert_true(o.transform.scale[0] == 0.2 && o.transform.scale[1] == 0.9);
    assert_true(o.transform.ratio[0] == 0.5 && o.transform.ratio[1] == 2.5);
    assert_true(o.transform.filter_random);
    config_set(&cfg, "AUG.INTERPOLATION", "bicubic");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_true(o.transform.filter == RESIZE_BICUBIC && !o.transform.filter_random);
    data_loader_options(&cfg, DATA_VAL, &o);
    assert_int_equal(o.transform.filter, RESIZE_BILINEAR);
    config_release(&cfg);
}

static void processes_share_the_cache(void **state)
{
    struct config cfg;
    static struct loader_options o;
    int64_t alone;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.CACHE", "decoded");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_in_range(o.cache_bytes, 1, host_memory() / 2);
    alone = o.cache_bytes;
    setenv("PMI_SIZE", "4", 1);
    data_loader_options(&cfg, DATA_TRAIN, &o);
    unsetenv("PMI_SIZE");
    assert_int_equal(o.cache_bytes, alone / 4);
    config_release(&cfg);
}

/* The sizes to which timm and Swin resize before the center crop. */
static void validation_resizes_as_timm_does(void **state)
{
    static const struct {
        const char *size, *pct;
        int resize;
    } cases[] = {{"224", "0.875", 256}, {"224", "0.9", 248},   {"224", "0.95", 235},
                 {"224", "0.965", 232}, {"160", "0.95", 168},  {"288", "1.0", 288},
                 {"256", "0.875", 292}, {"192", "0.875", 219}, {"32", "1.0", 32}};
    struct config cfg;
    static struct loader_options o;

    (void)state;
    config_init(&cfg);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        config_set(&cfg, "DATA.IMG_SIZE", cases[i].size);
        config_set(&cfg, "DATA.CROP_PCT", cases[i].pct);
        data_loader_options(&cfg, DATA_VAL, &o);
        assert_int_equal(o.transform.kind, TRANSFORM_CENTER);
        assert_int_equal(o.transform.resize, cases[i].resize);
        assert_true(o.transform.flip.probability == 0 && o.transform.policy.ops == 0);
        assert_true(o.transform.erase.probability == 0 && o.transform.jitter[0] == 0);
        assert_true(!o.shuffle && !o.drop_last);
    }
    config_set(&cfg, "DATA.VAL_BATCH_SIZE", "50");
    config_set(&cfg, "TEST.CROP", "False");
    data_loader_options(&cfg, DATA_VAL, &o);
    assert_int_equal(o.batch, 50);
    assert_int_equal(o.transform.kind, TRANSFORM_STRETCH);
    config_release(&cfg);
}

static void mistakes_are_reported(void **state)
{
    struct config cfg;
    struct problems p = {0};

    (void)state;
    config_init(&cfg);
    data_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "DATA.DATA_PATH is empty"));
    config_set(&cfg, "DATA.DATASET", "synthetic");
    problems_release(&p);
    data_check(&cfg, &p);
    assert_int_equal(p.n, 0);
    config_set(&cfg, "AUG.AUTO_AUGMENT", "rand-m9-x1");
    config_set(&cfg, "AUG.CROP_MODE", "rrc");
    config_set(&cfg, "AUG.PAD_CROP", "4");
    data_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_int_equal(p.n, 2);
    assert_non_null(
        strstr(p.item[0].text, "AUG.AUTO_AUGMENT 'rand-m9-x1': 'x1' is none of"));
    assert_non_null(strstr(p.item[1].text, "AUG.PAD_CROP has no effect"));
    problems_release(&p);
    config_release(&cfg);
}

static void names_are_those_of_the_tables(void **state)
{
    struct config cfg;
    struct problems p = {0};

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.CLASS_SET", "camvid11");
    data_check_names(&cfg, &p);
    assert_int_equal(p.n, 0);
    config_set(&cfg, "DATA.CLASS_SET", "camvid13");
    data_check_names(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "DATA.CLASS_SET must be empty or one of"));
    assert_non_null(strstr(p.item[0].text, "(did you mean camvid11?)"));
    problems_release(&p);
    config_set(&cfg, "DATA.CLASS_SET", "");
    for (const struct storage *const *row = storage_table; *row; row++) {
        config_set(&cfg, "DATA.DATASET", (*row)->name);
        data_check_names(&cfg, &p);
        assert_int_equal(p.n, 0);
    }
    config_set(&cfg, "DATA.DATASET", "imagenet21k");
    data_check_names(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "DATA.DATASET must be one of folder, "));
    assert_non_null(strstr(p.item[0].text, "(did you mean imagenet22K?)"));
    problems_release(&p);
    data_check(&cfg, &p); /* no further errors, because the storage is unknown */
    data_check_split(&cfg, DATA_TRAIN, &p);
    assert_int_equal(p.nerror, 1);
    problems_release(&p);
    config_release(&cfg);
}

static void check_train(const struct config *cfg, int errors, const char *what)
{
    struct problems p = {0};

    data_check_split(cfg, DATA_TRAIN, &p);
    assert_int_equal(p.nerror, errors);
    assert_int_equal(p.n, what != NULL);
    if (what && !strstr(p.item[0].text, what))
        fail_msg("'%s' does not say '%s'", p.item[0].text, what);
    problems_release(&p);
}

/* The message names a missing folder, and the storage that a folder looks like. */
static void a_split_is_looked_for(void **state)
{
    char *dir = make_temp_dir(), *list = path_join(dir, "train.txt");
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.DATA_PATH", "/nonexistent");
    check_train(&cfg, 1, "folder '/nonexistent'");
    config_set(&cfg, "DATA.DATA_PATH", dir);
    check_train(&cfg, 1,
                "has no folder 'train' (DATA.TRAIN_SPLIT, DATA.DATASET imagenet)");
    config_set(&cfg, "DATA.DATASET", "cityscapes");
    check_train(&cfg, 1,
                "/leftImg8bit/train' (DATA.TRAIN_SPLIT, DATA.DATASET cityscapes)");
    make_file(dir, "leftImg8bit/train/x", "", 0);
    check_train(&cfg, 1, "/gtFine/train' (DATA.TRAIN_SPLIT, DATA.DATASET cityscapes)");
    make_file(dir, "train.txt", "im/1.jpg la/1.png\n", 18);
    check_train(&cfg, 1, "cityscapes): '/");
    check_train(&cfg, 1, "' looks like DATA.DATASET list");
    config_set(&cfg, "DATA.DATASET", "list");
    check_train(&cfg, 0, NULL);
    make_image(dir, "train/1.jpg", 8, 8, 0); /* a folder without classes */
    config_set(&cfg, "DATA.DATASET", "folder");
    check_train(&cfg, 0, "looks like DATA.DATASET list, not folder");
    config_set(&cfg, "DATA.DATA_PATH", list);
    check_train(&cfg, 1, "looks like DATA.DATASET list with a split 'train'");
    config_set(&cfg, "DATA.DATASET", "synthetic");
    check_train(&cfg, 0, NULL);
    free(list);
    remove_temp_dir(dir);
    config_release(&cfg);
}

static void synthetic_needs_no_path(void **state)
{
    struct dataset_bytes bytes[2] = {{0}};
    struct strbuf why = STRBUF_INIT;
    struct config cfg;
    struct dataset *d;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.DATASET", "synthetic");
    config_set(&cfg, "DATA.TRAIN_NUM_SAMPLES", "30");
    config_set(&cfg, "DATA.VAL_NUM_SAMPLES", "20");
    config_set(&cfg, "MODEL.NUM_CLASSES", "10");
    for (int split = 0; split < 2; split++) {
        d = data_open(&cfg, (enum data_split)split);
        assert_int_equal(d->n, split ? 20 : 30);
        assert_int_equal(d->nclass, 10);
        assert_string_equal(d->name, split ? "synthetic val" : "synthetic train");
        assert_int_equal(dataset_read(d, 0, 1 << 20, &bytes[split], &why), 0);
        dataset_close(d);
    }
    assert_int_equal(bytes[0].len, bytes[1].len);
    assert_memory_not_equal(bytes[0].data, bytes[1].data, bytes[0].len);
    dataset_bytes_release(&bytes[0]);
    dataset_bytes_release(&bytes[1]);
    strbuf_release(&why);
    config_release(&cfg);
}

/* Validation decodes images at full size, as Pillow does; training may decode them at
 * reduced size. */
static void validation_decodes_whole(void **state)
{
    struct config cfg;
    struct loader_options o;

    (void)state;
    for (int segment = 0; segment < 2; segment++) {
        config_init(&cfg);
        if (segment) {
            config_set(&cfg, "MODEL.TYPE", "erfnet");
            config_set(&cfg, "MODEL.NAME", "erfnet");
        }
        data_loader_options(&cfg, DATA_VAL, &o);
        assert_true(o.transform.shrink_gap == 0);
        data_loader_options(&cfg, DATA_TRAIN, &o);
        assert_true(o.transform.shrink_gap == 2);
        config_set(&cfg, "TEST.SHRINK", "True");
        data_loader_options(&cfg, DATA_VAL, &o);
        assert_true(o.transform.shrink_gap == 2);
        config_release(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validation_decodes_whole),
        cmocka_unit_test(training_defaults_are_swins),
        cmocka_unit_test(keys_reach_the_loader),
        cmocka_unit_test(list_reaches_the_loader),
        cmocka_unit_test(crop_modes_reach_the_loader),
        cmocka_unit_test(processes_share_the_cache),
        cmocka_unit_test(validation_resizes_as_timm_does),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(names_are_those_of_the_tables),
        cmocka_unit_test(a_split_is_looked_for),
        cmocka_unit_test(synthetic_needs_no_path),
    };

    return cmocka_run_group_tests_name("loader_config", tests, NULL, NULL);
}
