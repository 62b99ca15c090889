/* Loader options that follow from segmentation keys, and conflicting keys. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/child.h"
#include "tests/config_init.h"
#include "tests/make_folder.h"
#include "tests/test.h"
#include "train/class_weights.h"
#include "train/data_config.h"
#include "train/segment_config.h"

static void set_erfnet(struct config *cfg)
{
    config_init(cfg);
    config_set(cfg, "MODEL.TYPE", "erfnet");
    config_set(cfg, "MODEL.NAME", "erfnet");
    config_set(cfg, "MODEL.NUM_CLASSES", "19");
    config_set(cfg, "DATA.DATASET", "cityscapes");
    config_set(cfg, "DATA.DATA_PATH", "/nonexistent");
    config_set(cfg, "DATA.CLASS_SET", "cityscapes19");
    config_set(cfg, "DATA.IMG_WIDTH", "64");
    config_set(cfg, "DATA.IMG_HEIGHT", "32");
}

static void keys_reach_the_loader(void **state)
{
    struct config cfg;
    static struct loader_options o;

    (void)state;
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.INTERPOLATION", "bilinear");
    config_set(&cfg, "DATA.MEAN", "[0.0, 0.5, 1.0]");
    config_set(&cfg, "AUG.SHIFT", "2");
    config_set(&cfg, "AUG.RESIZE_SCALE", "[0.5, 2.0]");
    config_set(&cfg, "AUG.COLOR_JITTER", "0.1");
    data_loader_options(&cfg, DATA_TRAIN, &o);
    assert_int_equal(o.transform.kind, TRANSFORM_SEGMENT);
    assert_true(o.transform.w == 64 && o.transform.h == 32);
    assert_int_equal(o.transform.label_divisor, 1);
    assert_int_equal(o.transform.filter, RESIZE_BILINEAR);
    assert_int_equal(o.transform.shift, 2);
    assert_true(o.transform.factor[0] == 0.5 && o.transform.factor[1] == 2);
    assert_true(o.transform.flip.probability == 0.5 && o.transform.jitter[2] == 0.1);
    assert_memory_equal(o.transform.fill, ((uint8_t[]){0, 128, 255}), 3);
    assert_int_equal(o.transform.policy.ops, 0); /* the classification defaults do not
                                                  * apply */
    assert_true(o.transform.erase.probability == 0);
    assert_true(o.shuffle && o.drop_last);
    data_loader_options(&cfg, DATA_VAL, &o);
    assert_true(o.transform.factor[0] == 0 && o.transform.factor[1] == 0);
    assert_true(o.transform.shift == 0 && o.transform.flip.probability == 0);
    assert_true(o.transform.jitter[0] == 0 && !o.shuffle && !o.drop_last);
    config_set(&cfg, "MODEL.NAME", "erfnet_encoder");
    data_loader_options(&cfg, DATA_VAL, &o);
    assert_int_equal(o.transform.label_divisor, 8);
    config_release(&cfg);
}

/* Sets one key of a valid configuration; expects an error that contains `why`, or none if
 * NULL. */
static void expect(const char *key, const char *value, const char *why)
{
    struct config cfg;
    struct problems p = {0};

    set_erfnet(&cfg);
    config_set(&cfg, key, value);
    segment_check(&cfg, &p);
    if ((p.nerror > 0) != (why != NULL))
        fail_msg("%s %s: %d mistakes, first '%s'", key, value, p.nerror,
                 p.n ? p.item[0].text : "");
    if (why && !strstr(p.item[0].text, why))
        fail_msg("%s %s: '%s' does not say '%s'", key, value, p.item[0].text, why);
    problems_release(&p);
    config_release(&cfg);
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    expect("SEED", "3", NULL);
    expect("DATA.LABELS", "train_ids", NULL);
    expect("DATA.CLASS_SET", "camvid11",
           "camvid11 has 11 classes, but MODEL.NUM_CLASSES");
    expect("MODEL.NUM_CLASSES", "20", "cityscapes19 has 19 classes");
    expect("DATA.DATASET", "voc", NULL);
    expect("DATA.CLASS_NAMES", "[a, b]", "DATA.CLASS_SET already has names");
    expect("DATA.DATASET", "folder", "DATA.CLASS_SET is for label maps");
    expect("MODEL.NAME", "erfnet_encoder", NULL);
    expect("AUG.REPROB", "0.25", NULL); /* the default, as in a saved config.yaml */
    expect("AUG.REPROB", "0.5", "AUG.REPROB does not work with label maps");
    expect("AUG.AUTO_AUGMENT", "none", NULL);
    expect("AUG.AUTO_AUGMENT", "rand-m7",
           "AUG.AUTO_AUGMENT does not work with label maps");
    expect("AUG.PAD_CROP", "4", "AUG.PAD_CROP does not work with label maps");
    expect("AUG.CROP_MODE", "rrc", "AUG.CROP_MODE does not work with label maps");
}

/* Keys that only classification reads give a warning. */
static void what_is_not_read_is_said(void **state)
{
    static const char *const unread[][2] = {{"AUG.SCALE", "[0.5, 1.0]"},
                                            {"AUG.RATIO", "[1.0, 1.0]"},
                                            {"DATA.CROP_PCT", "0.5"},
                                            {"TEST.CROP", "False"}};
    struct config cfg;
    struct problems p = {0};
    struct strbuf origin = STRBUF_INIT;

    (void)state;
    set_erfnet(&cfg);
    for (int i = 0; i < 4; i++)
        config_set_for(&cfg, unread[i][0], unread[i][1], "--opts");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 0);
    assert_int_equal(p.n, 4);
    for (int i = 0; i < 4; i++) {
        strbuf_reset(&origin);
        strbuf_addf(&origin, "%s has no effect", unread[i][0]);
        assert_non_null(strstr(p.item[i].text, origin.buf));
    }
    problems_release(&p);
    config_release(&cfg);
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.CLASS_SET", "");
    config_set_for(&cfg, "DATA.LABELS", "train_ids", "--opts");
    segment_check(&cfg, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.item[0].text, "DATA.LABELS has no effect"));
    problems_release(&p);
    config_release(&cfg);
    strbuf_release(&origin);
}

static void raw_ids_are_no_train_ids(void **state)
{
    struct config cfg;
    struct problems p = {0};

    (void)state;
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.CLASS_SET", "cityscapes34");
    config_set(&cfg, "MODEL.NUM_CLASSES", "34");
    config_set(&cfg, "DATA.LABELS", "train_ids");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "train_ids has 19 classes"));
    problems_release(&p);
    config_release(&cfg);
}

static void names_are_counted(void **state)
{
    struct config cfg;
    struct problems p = {0};

    (void)state;
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.CLASS_SET", "");
    config_set(&cfg, "MODEL.NUM_CLASSES", "3");
    config_set(&cfg, "DATA.CLASS_NAMES", "[sky, road, rest]");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 0);
    config_set(&cfg, "DATA.CLASS_NAMES", "[sky, road]");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text,
                           "DATA.CLASS_NAMES has 2 names, but MODEL.NUM_CLASSES is 3"));
    problems_release(&p);
    config_set(&cfg, "DATA.CLASS_NAMES", "[sky, road, sky]");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "classes 0 and 2 are both called 'sky'"));
    problems_release(&p);
    config_set(&cfg, "DATA.CLASS_NAMES", "['sky', 'the\\nroad', '']");
    segment_check(&cfg, &p);
    assert_int_equal(p.nerror, 2);
    assert_non_null(
        strstr(p.item[0].text, "the name of class 1 is empty or has control"));
    assert_non_null(
        strstr(p.item[1].text, "the name of class 2 is empty or has control"));
    problems_release(&p);
    config_release(&cfg);
}

/* Synthetic images have label maps for segmentation models. */
static void synthetic_follows_the_model(void **state)
{
    struct config cfg;
    struct dataset *d;

    (void)state;
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.DATASET", "synthetic");
    assert_true(segment_config(&cfg));
    d = data_open(&cfg, DATA_TRAIN);
    assert_true(dataset_has_labels(d));
    assert_int_equal(d->nclass, 19);
    dataset_close(d);
    config_set(&cfg, "MODEL.TYPE", "resnet");
    config_set(&cfg, "MODEL.NAME", "resnet18");
    assert_false(segment_config(&cfg));
    config_release(&cfg);
}

/* Classes are counted at the resolution of the model's logits (encoder: 1/8). */
static void labels_are_counted_as_learned(void **state)
{
    static const char *const names[] = {"erfnet", "erfnet_encoder"};
    struct histogram h;
    struct config cfg;

    (void)state;
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.DATASET", "synthetic");
    config_set(&cfg, "DATA.TRAIN_NUM_SAMPLES", "2");
    for (int i = 0; i < 2; i++) {
        struct dataset *d = data_open(&cfg, DATA_TRAIN);

        config_set(&cfg, "MODEL.NAME", names[i]);
        data_histogram(&cfg, d, &h);
        assert_int_equal(h.total, i ? 2 * 8 * 4 : 2 * 64 * 32);
        dataset_close(d);
    }
    config_release(&cfg);
}

static void read_class_weights(void *cfg)
{
    float weight[19];

    (void)class_weights(cfg, NULL, weight);
}

/* Labels that are all ignored are an error. */
static void labels_have_classes(void **state)
{
    char *dir = make_temp_dir();
    uint8_t pixel[6] = {255, 255, 255, 255, 255, 255};
    struct config cfg;

    (void)state;
    make_image(dir, "a.jpg", 3, 2, 0);
    make_label(dir, "a.png", 3, 2, pixel);
    make_file(dir, "train.txt", "a.jpg a.png\n", 12);
    set_erfnet(&cfg);
    config_set(&cfg, "DATA.DATASET", "list");
    config_set(&cfg, "DATA.DATA_PATH", dir);
    config_set(&cfg, "TRAIN.CLASS_WEIGHTS", "auto");
    check_dies(read_class_weights, &cfg, "all pixels of the label maps of");
    pixel[4] = 7; /* a road */
    make_label(dir, "a.png", 3, 2, pixel);
    check_leaves(read_class_weights, &cfg, 0, "class weights: road");
    remove_temp_dir(dir);
    config_release(&cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_reach_the_loader),
        cmocka_unit_test(what_does_not_fit_is_said),
        cmocka_unit_test(what_is_not_read_is_said),
        cmocka_unit_test(raw_ids_are_no_train_ids),
        cmocka_unit_test(names_are_counted),
        cmocka_unit_test(labels_have_classes),
        cmocka_unit_test(labels_are_counted_as_learned),
        cmocka_unit_test(synthetic_follows_the_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
