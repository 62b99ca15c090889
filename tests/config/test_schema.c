/* The schema table: every row is valid, and Swin's keys have Swin's types and
 * defaults. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "config/cfgnode.h"
#include "config/config.h"
#include "config/schema.h"
#include "tests/config_init.h"
#include "tests/test.h"

/* Each key has one row, in upper case, and each flag one key. */
static void test_rows(void **state)
{
    int n = 0;

    (void)state;
    for (const struct schema *row = schema_table; row->key; row++, n++) {
        char low[128];
        size_t len = strlen(row->key);

        assert_true(len < sizeof(low));
        for (size_t i = 0; i <= len; i++)
            low[i] = (char)tolower((unsigned char)row->key[i]);
        assert_string_equal(low, row->field ? row->field : low);
        assert_ptr_equal(schema_find(schema_table, row->key), row);
        assert_non_null(row->help);
        assert_true(row->offset < offsetof(struct config, tree));
        if (row->type == SCHEMA_CHOICE)
            assert_non_null(row->choices);
        for (const struct schema *r = schema_table; row->flag && r < row; r++)
            if (r->flag)
                assert_string_not_equal(r->flag, row->flag);
    }
    assert_true(n > 180);
}

static void test_defaults_pass_their_checks(void **state)
{
    struct cfgnode *tree = cfgnode_clone(config_defaults());
    struct problems p = {0};

    (void)state;
    config_check(tree, &p);
    if (p.n)
        fail_msg("%s", p.item[0].text);
    for (const struct schema *row = schema_table; row->key; row++) {
        const struct cfgnode_entry *e = cfgnode_find(tree, row->key);

        assert_string_equal(e->name, row->key);
        assert_true(value_equal(&e->value, config_default(row->key)));
    }
    assert_string_equal(cfgnode_find(tree, "TRAIN.EMA")->name, "TRAIN.EMA");
    cfgnode_free(tree);
}

static void test_config_init(void **state)
{
    struct config cfg;

    (void)state;
    config_init(&cfg);
    assert_int_equal(cfg.data.batch_size, 128);
    assert_true(cfg.train.base_lr == 0.0005);
    assert_true(cfg.train.optimizer.betas.item[1] == 0.999);
    assert_string_equal(cfg.train.optimizer.name, "adamw");
    assert_string_equal(cfg.model.name, "swin_tiny_patch4_window7_224");
    assert_int_equal(config_get(&cfg, "MODEL.SWIN.NUM_HEADS")->list.item[3].i, 24);
    assert_int_equal(
        config_get(&cfg, "MODEL.SWIN_MOE.MOE_BLOCKS")->list.item[3].list.item[0].i, -1);
    assert_int_equal(config_get(&cfg, "MODEL.SWIN.QK_SCALE")->type, VALUE_NONE);
    assert_null(cfg.aug.cutmix_minmax.item);
    assert_int_equal(config_amp_level(&cfg), 1);
    cfg.amp_enable = false;
    assert_int_equal(config_amp_level(&cfg), 0);
    cfg.amp_opt_level = AMP_OPT_LEVEL_O2;
    assert_int_equal(config_amp_level(&cfg), 2);
    config_release(&cfg);
}

/* An int key that also accepts a word: stored in the field and converted back. */
static void test_word(void **state)
{
    const struct schema *row = schema_find(schema_table, "DATA.BATCH_SIZE");
    struct strbuf type = STRBUF_INIT;
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "DATA.BATCH_SIZE", "auto");
    assert_int_equal(cfg.data.batch_size, BATCH_SIZE_AUTO);
    assert_int_equal(config_get(&cfg, row->key)->type, VALUE_STR);
    assert_string_equal(config_get(&cfg, row->key)->s, "auto");
    config_set(&cfg, "SEED", "7");
    config_set(&cfg, "DATA.BATCH_SIZE", "${SEED}");
    assert_int_equal(cfg.data.batch_size, 7);
    assert_true(cfg.tree->frozen);
    assert_int_equal(config_get(&cfg, row->key)->i, 7);
    schema_add_type(&type, row);
    assert_string_equal(type.buf, "int or auto");
    strbuf_release(&type);
    config_release(&cfg);
}

/* Keys that may change when a run is resumed. */
static void test_neutral(void **state)
{
    static const struct {
        const char *key;
        bool neutral;
    } rows[] = {
        {"OUTPUT", true},
        {"DEVICE", true},
        {"TRAIN.EVAL_FREQ", true},
        {"TRAIN.MAX_STEPS", true},
        {"DATA.NUM_WORKERS", true},
        {"DATA.DATA_PATH", true},
        {"MODEL.RESUME", true},
        {"SEED", false},
        {"DATA.BATCH_SIZE", false},
        {"DATA.DATASET", false},
        {"MODEL.NAME", false},
        {"MODEL.RESNET.STEM", false},
        {"TRAIN.EPOCHS", false},
        {"TRAIN.BASE_LR", false},
        {"TRAIN.OPTIMIZER.NAME", false},
        {"AUG.MIXUP", false},
        {"AMP_OPT_LEVEL", false},
    };
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (schema_find(schema_table, rows[i].key)->neutral != rows[i].neutral)
            fail_msg("%s", rows[i].key);
    for (const struct schema *row = schema_table; row->key; row++) {
        /* AUG.ON_DEVICE does not change the bytes of an image. */
        if (!strncmp(row->key, "AUG.", 4) || !strncmp(row->key, "TRAIN.OPTIMIZER.", 16))
            assert_int_equal(row->neutral, !strcmp(row->key, "AUG.ON_DEVICE"));
        if (!strncmp(row->key, "LOG.", 4) && ++n)
            assert_true(row->neutral);
    }
    assert_true(n >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_defaults_pass_their_checks),
        cmocka_unit_test(test_config_init),
        cmocka_unit_test(test_word),
        cmocka_unit_test(test_neutral),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
