/*
 * The keys of model families: each table has only keys of the schema, every choice builds
 * a net, and an invalid choice or a key of another family is reported.
 */
#include <string.h>

#include "base/alloc.h"
#include "config/cmdline.h"
#include "config/schema.h"
#include "models/count.h"
#include "models/resnet.h"
#include "models/swin_net.h"
#include "session/model_config.h"
#include "tests/config_init.h"
#include "tests/test.h"

static void config_of(struct config *cfg, const char *type, const char *name)
{
    config_init(cfg);
    config_set(cfg, "MODEL.TYPE", type);
    config_set(cfg, "MODEL.NAME", name);
    config_set(cfg, "DATA.IMG_SIZE", "64");
}

/* Every family's options can be filled, and the defaults of its choices are choices. */
static void test_tables(void **state)
{
    (void)state;
    for (int i = 0; model_families[i]; i++) {
        const struct model_family *f = model_families[i];
        struct problems p = {0};
        struct arena mem = {0};
        struct config cfg;
        struct model_options o;

        if (!f->models[0].name) /* its models are files */
            continue;
        config_of(&cfg, f->type, f->models[0].name);
        assert_true(model_options_check(&cfg, &p));
        assert_int_equal(p.n, 0);
        o = model_options_of_config(&cfg, &mem);
        assert_int_equal(o.classes, 1000);
        assert_true((o.family != NULL) == (f->options != NULL));
        for (int k = 0; f->reads[k]; k++)
            assert_non_null(option_find(model_common_options, f->reads[k]));
        arena_release(&mem);
        config_release(&cfg);
    }
}

/* Choices of MODEL.RESNET keys, by the parameter count of the resnet50 that they make. */
static void test_choices(void **state)
{
    static const struct {
        const char *stem, *shortcut;
        int64_t params;
    } rows[] = {
        {"auto", "auto", 25557032},
        {"7x7", "conv", 25557032},
        {"deep", "auto", 25576264},
        {"deep64", "auto", 25680808},
        {"tiered", "avg", 25573728},
        {"3x3", "avg", 25557032 - 7680},
        {"auto", "pad", 25557032 - 2768896 - 7680},
    };
    struct arena mem = {0};
    struct config cfg;

    (void)state;
    config_of(&cfg, "resnet", "resnet50");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_options o;

        config_set(&cfg, "MODEL.RESNET.STEM", rows[i].stem);
        config_set(&cfg, "MODEL.RESNET.SHORTCUT", rows[i].shortcut);
        o = model_options_of_config(&cfg, &mem);
        assert_int_equal(model_count_image(model_of_config(&cfg), &o, 3, 64, 64).params,
                         rows[i].params);
    }
    arena_release(&mem);
    config_release(&cfg);
}

static struct model_options options_with(struct config *cfg, struct arena *mem,
                                         const char *key, const char *text)
{
    config_set(cfg, key, text);
    return model_options_of_config(cfg, mem);
}

static const struct resnet_options *resnet_with(struct config *cfg, struct arena *mem,
                                                const char *zero)
{
    return options_with(cfg, mem, "MODEL.RESNET.ZERO_INIT_LAST", zero).family;
}

static void test_values(void **state)
{
    static const struct {
        const char *name;
        int rule;
    } inits[] = {
        {"", INIT_RULE_DEFAULT},
        {"kaiming_normal", INIT_RULE_KAIMING_NORMAL},
        {"kaiming_uniform", INIT_RULE_KAIMING_UNIFORM},
        {"xavier_normal", INIT_RULE_XAVIER_NORMAL},
        {"xavier_uniform", INIT_RULE_XAVIER_UNIFORM},
    };
    const struct resnet_options *r;
    struct arena mem = {0};
    struct config cfg;
    struct model_options o;

    (void)state;
    config_of(&cfg, "resnet", "resnet50");
    for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++)
        assert_int_equal(options_with(&cfg, &mem, "MODEL.INIT", inits[i].name).init,
                         inits[i].rule);
    assert_false(resnet_with(&cfg, &mem, "None")->zero_init_last.has);
    r = resnet_with(&cfg, &mem, "True");
    assert_true(r->zero_init_last.has && r->zero_init_last.value);
    r = resnet_with(&cfg, &mem, "False");
    assert_true(r->zero_init_last.has && !r->zero_init_last.value);
    config_set(&cfg, "MODEL.DROP_RATE", "0.2");
    o = options_with(&cfg, &mem, "MODEL.DROP_PATH_RATE", "0.3");
    assert_true(o.drop_rate == 0.2 && o.drop_path == 0.3);
    arena_release(&mem);
    config_release(&cfg);
}

/* Checks the only message of model_check() for a model with one more key; NULL if there
 * must be none. */
static void check_says(const char *type, const char *name, const char *key,
                       const char *text, const char *want)
{
    struct problems p = {0};
    struct config cfg;

    config_of(&cfg, type, name);
    config_set(&cfg, "MODEL.NUM_CLASSES", "20");
    config_set(&cfg, "AUG.MIXUP", "0");
    config_set(&cfg, "AUG.CUTMIX", "0");
    config_set(&cfg, "MODEL.LABEL_SMOOTHING", "0");
    config_set(&cfg, key, text);
    model_check(&cfg, &p);
    if (want) {
        assert_int_equal(p.n, 1);
        assert_string_equal(p.item[0].text, want);
    } else {
        assert_int_equal(p.n, 0);
    }
    problems_release(&p);
    config_release(&cfg);
}

static void test_mistakes(void **state)
{
    (void)state;
    check_says("resnet", "resnet50", "MODEL.RESNET.STEM", "deep", NULL);
    check_says("resnet", "resnet50", "MODEL.RESNET.STEM", "depe",
               "MODEL.RESNET.STEM must be one of auto, 7x7, 3x3, deep, deep64, tiered, "
               "not 'depe' (did you mean deep?)");
    check_says("erfnet", "erfnet", "MODEL.RESNET.SHORTCUT", "none",
               "MODEL.RESNET.SHORTCUT must be one of auto, conv, avg, pad, not 'none'");
    check_says("resnet", "resnet50", "MODEL.INIT", "kaiming",
               "MODEL.INIT must be one of '', kaiming_normal, kaiming_uniform, "
               "xavier_normal, xavier_uniform, not 'kaiming'");
}

/* Warns of keys that are set but not read by the family. */
static void test_unread(void **state)
{
    char type[] = "--model-type=resnet", stem[] = "MODEL.RESNET.STEM=deep",
         width[] = "MODEL.SWIN.EMBED_DIM=64";
    char *words[] = {type, stem, width};
    struct cmd_spec spec = {.schema = schema_table};
    struct problems p = {0};
    struct cmdline line;
    struct config cfg;

    (void)state;
    cmdline_parse(&line, &spec, 3, words, &p);
    assert_true(config_load(&cfg, &line, &p));
    assert_int_equal(p.n, 0);
    assert_true(model_options_check(&cfg, &p));
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.item[0].text, "MODEL.SWIN.EMBED_DIM has no effect: this "
                                           "MODEL.TYPE does not read it"));
    problems_release(&p);
    config_release(&cfg);
    cmdline_release(&line);
}

/* Common keys that a family does not read may only be switched off. */
static void test_common(void **state)
{
    static const char *const size =
        "the input of erfnet is 60 x 60 pixels, width and height must be multiples of 8 "
        "(DATA.IMG_WIDTH, DATA.IMG_HEIGHT)";

    (void)state;
    check_says("erfnet", "erfnet", "MODEL.DROP_PATH_RATE", "0", NULL);
    check_says("erfnet", "erfnet", "MODEL.DROP_PATH_RATE", "0.5",
               "MODEL.DROP_PATH_RATE 0.5 does not apply to models of MODEL.TYPE erfnet");
    check_says("erfnet", "erfnet", "MODEL.DROP_RATE", "0.5",
               "MODEL.DROP_RATE 0.5 does not apply to models of MODEL.TYPE erfnet");
    check_says("erfnet", "erfnet", "MODEL.INIT", "xavier_normal",
               "MODEL.INIT xavier_normal does not apply to models of MODEL.TYPE erfnet");
    check_says("resnet", "resnet50", "MODEL.DROP_RATE", "0.5", NULL);
    check_says("erfnet", "erfnet", "DATA.IMG_SIZE", "60", size);
    check_says("resnet", "resnet50", "DATA.IMG_SIZE", "60", NULL);
}

/* Values that a Swin's name implies, unless keys override them. */
static void test_preset(void **state)
{
    struct config cfg;
    struct arena mem = {0};
    struct model_options o;
    const struct swin_options *s;

    (void)state;
    config_of(&cfg, "swinv2", "swinv2_base_window12to24_192to384");
    config_preset(&cfg, "MODEL.SWINV2.EMBED_DIM", "64", "here");
    model_preset(&cfg);
    o = model_options_of_config(&cfg, &mem);
    s = o.family;
    assert_int_equal(s->embed_dim, 64);
    assert_int_equal(s->window_size, 24);
    assert_int_equal(s->depths.item[2], 18);
    assert_int_equal(s->num_heads.item[3], 32);
    assert_int_equal(s->pretrained_window_sizes.item[3], 6);
    assert_string_equal(config_origin(&cfg, "MODEL.SWINV2.DEPTHS"),
                        "MODEL.NAME swinv2_base_window12to24_192to384");
    arena_release(&mem);
    config_release(&cfg);
}

/* A name implies its type, unless the type is set in the same place or later. */
static void test_type(void **state)
{
    static const struct {
        const char *words[4], *type;
        bool found;
    } rows[] = {
        {{"--model=resnet18"}, "resnet", true},
        {{"--model=vit_tiny_patch16_224.augreg_in21k"}, "vit", true},
        {{"--model=erfnet"}, "erfnet", true},
        {{"--model=resnet51"}, "swin", false},
        {{"MODEL.NAME=swinv2_tiny_window8_256"}, "swinv2", true},
        {{"--model=resnet18", "MODEL.TYPE=vit"}, "resnet", true},
        {{"--model=resnet18", "--cfg=configs/vit_tiny.yaml"}, "resnet", true},
        {{"--model=resnet18", "--model-type=swin"}, "swin", false},
        {{"MODEL.NAME=resnet18", "MODEL.TYPE=swin"}, "swin", false},
        {{"MODEL.NAME=resnet18", "--model-type=swin"}, "swin", false},
        {{"--cfg=configs/resnet18.yaml", "--model-type=swin"}, "swin", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cmd_spec spec = {.schema = schema_table};
        struct strbuf why = STRBUF_INIT;
        char *words[4];
        struct problems p = {0};
        struct cmdline line;
        struct config cfg;
        int n = 0;

        for (; rows[i].words[n]; n++)
            words[n] = xstrdup(rows[i].words[n]);
        cmdline_parse(&line, &spec, n, words, &p);
        assert_true(config_load(&cfg, &line, &p));
        model_preset(&cfg);
        assert_string_equal(cfg.model.type, rows[i].type);
        assert_true((model_find(cfg.model.type, cfg.model.name, &why) != NULL) ==
                    rows[i].found);
        strbuf_release(&why);
        problems_release(&p);
        config_release(&cfg);
        cmdline_release(&line);
        while (n > 0)
            free(words[--n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables), cmocka_unit_test(test_choices),
        cmocka_unit_test(test_values), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_unread), cmocka_unit_test(test_common),
        cmocka_unit_test(test_preset), cmocka_unit_test(test_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
