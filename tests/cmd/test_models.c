/*
 * Subcommands that describe models and devices: their machine-readable output. Also
 * checks that every recipe of the table loads and builds its own model.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/schema.h"
#include "io/json.h"
#include "models/count.h"
#include "session/model_config.h"
#include "tests/cmd/verb_run.h"
#include "tests/config_init.h"
#include "tests/test.h"

static char *temp_path(void)
{
    static char path[] = "/tmp/trainc-summary-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    return path;
}

static int64_t number(const json_t *j, const char *key)
{
    const json_t *n = json_object_get(j, key);

    assert_true(json_is_integer(n));
    return json_integer_value(n);
}

/* Returns how often an op occurs in the claims. */
static int claimed(const json_t *claims, const char *op)
{
    const json_t *claim, *name;
    size_t i, k;
    int n = 0;

    json_array_foreach(claims, i, claim)
    {
        assert_true(json_is_string(json_object_get(claim, "layer")));
        assert_true(json_is_string(json_object_get(claim, "kernel")));
        json_array_foreach(json_object_get(claim, "ops"), k, name) n +=
            !strcmp(json_string_value(name), op);
    }
    return n;
}

static void test_summary(void **state)
{
    struct strbuf why = STRBUF_INIT;
    char *path = temp_path();
    const json_t *claims;
    json_t *j;

    (void)state;
    assert_int_equal(RUN(&cmd_summary, "--opts", "MODEL.TYPE", "resnet", "MODEL.NAME",
                         "resnet18", "DATA.IMG_SIZE", "64", "DATA.BATCH_SIZE", "4",
                         "MODEL.DROP_PATH_RATE", "0", "--device", "ref", "--json", path),
                     0);
    j = json_parse_file(path, &why);
    if (!j)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    assert_int_equal(number(j, "params"), 11689512);
    /* Convolutions at 64x64 pixels and the classifier, for one image. */
    assert_int_equal(number(j, "macs"), (INT64_C(1814073344) - 512000) * 4 / 49 + 512000);
    assert_true(number(j, "lower_bound_bytes") > 4 * 64 * 32 * 32 * 4);
    assert_true(number(j, "arena_bytes") >= number(j, "lower_bound_bytes"));
    assert_true(number(j, "saved_bytes") <= number(j, "activation_bytes"));
    claims = json_object_get(j, "claims");
    assert_int_equal(claimed(claims, "conv2d"), 20);
    assert_int_equal(claimed(claims, "conv2d_weight_grad"), 20);
    assert_int_equal(claimed(claims, "conv2d_data_grad"), 19); /* none for the images */
    assert_int_equal(claimed(claims, "batchnorm"), 20);
    assert_int_equal(claimed(claims, "linear"), 1);
    json_decref(j);
    unlink(path);
}

static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(
        RUN(&cmd_summary, "--opts", "MODEL.TYPE", "resnet", "MODEL.NAME", "resnet51"), 2);
    assert_int_equal(RUN(&cmd_summary, "--opts", "MODEL.TYPE", "erfnet"), 2);
    assert_int_equal(RUN(&cmd_summary, "--model-type", "resnet", "--model", "resnet18",
                         "--drop-path", "1"),
                     2);
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(RUN(&cmd_models, "resnet*d"), 0);
    assert_int_equal(verb_run(&cmd_models, (const char *const[]){NULL}), 0);
    assert_int_equal(verb_run(&cmd_devices, (const char *const[]){NULL}), 0);
}

/* Loads a file of configs/; it must give no messages and name a model. */
static void load_file(struct config *cfg, const char *file)
{
    char *words[] = {xstrdup("--cfg"), xasprintf("configs/%s", file)};
    struct cmd_spec spec = {.schema = schema_table};
    struct problems p = {0};
    struct cmdline line;

    cmdline_parse(&line, &spec, 2, words, &p);
    if (config_load(cfg, &line, &p))
        model_check(cfg, &p);
    if (p.n)
        fail_msg("%s: %s", words[1], p.item[0].text);
    problems_release(&p);
    cmdline_release(&line);
    free(words[0]);
    free(words[1]);
}

/* A classifier's images must be square, because the loader makes only squares. */
static void test_squares(void **state)
{
    struct problems p = {0};
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "MODEL.TYPE", "resnet");
    config_set(&cfg, "MODEL.NAME", "resnet20");
    config_set(&cfg, "DATA.IMG_SIZE", "32");
    config_set(&cfg, "DATA.IMG_WIDTH", "32");
    model_check(&cfg, &p);
    assert_int_equal(p.nerror, 0);
    config_set(&cfg, "DATA.IMG_HEIGHT", "64");
    model_check(&cfg, &p);
    assert_int_equal(p.nerror, 1);
    assert_non_null(strstr(p.item[0].text, "resnet20 is a square of DATA.IMG_SIZE"));
    problems_release(&p);
    config_release(&cfg);
}

/* Builds the model as the file says, for images of its size. */
static struct model_count check_build(const struct config *cfg)
{
    struct arena mem = {0};
    struct model_options o = model_options_of_config(cfg, &mem);
    struct model_count c =
        model_count_image(model_of_config(cfg), &o, (int)cfg->model.in_chans,
                          (int)cfg->data.img_size, (int)cfg->data.img_size);

    assert_true(c.macs > 0);
    arena_release(&mem);
    return c;
}

/* Microsoft's files have their own names: they must describe the model of the same
 * size. */
static void check_same_net(const struct model *m, const struct config *cfg)
{
    struct model_options o = {.classes = cfg->model.num_classes};
    struct model_count want = model_count_image(m, &o, 3, m->size, m->size);
    struct model_count got = check_build(cfg);

    assert_int_equal(got.params, want.params);
    assert_int_equal(got.macs, want.macs);
    assert_int_equal(got.acts, want.acts);
    assert_int_equal(got.decayed, want.decayed);
}

static int check_recipes(const struct model_family *f)
{
    struct config cfg;
    int n = 0;

    for (const struct model *m = f->models; m->name; m++) {
        /* Swin-MoE's files are for 32 processes: tests/e2e/swin_configs.sh runs them */
        if (!m->recipe || strncmp(m->recipe, "swinmoe/", strlen("swinmoe/")) == 0)
            continue;
        load_file(&cfg, m->recipe);
        if (config_origin(&cfg, "MODEL.NUM_CLASSES")) /* otherwise the class folders
                                                      * determine it */
            assert_int_equal(cfg.model.num_classes, m->classes);
        if (f->custom_keys)
            check_same_net(m, &cfg);
        else
            assert_string_equal(cfg.model.name, m->name);
        check_build(&cfg);
        config_release(&cfg);
        n++;
    }
    return n;
}

static void test_recipes(void **state)
{
    int n = 0;

    (void)state;
    for (int i = 0; model_families[i]; i++)
        n += check_recipes(model_families[i]);
    assert_true(n >= 20);
}

static void test_smoke(void **state)
{
    int n;
    char **file = dir_list("configs/smoke", &n);

    (void)state;
    assert_true(n >= 3);
    for (int i = 0; i < n; i++) {
        struct config cfg;
        char *path = path_join("smoke", file[i]);

        load_file(&cfg, path);
        check_build(&cfg);
        config_release(&cfg);
        free(path);
    }
    dir_list_free(file, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lists),   cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_smoke),   cmocka_unit_test(test_squares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
