/* The keys of TRAIN.LR_SCHEDULER against the rows of the schedules. */
#include <math.h>
#include <string.h>

#include "config/schema.h"
#include "io/json.h"
#include "ops/control_formula.h"
#include "session/schedules.h"
#include "tests/config_init.h"
#include "tests/test.h"

/* Every key of the section is read by a schedule, and every key that one reads exists. */
static void test_keys(void **state)
{
    static const char section[] = "TRAIN.LR_SCHEDULER.";
    struct named row;
    int n = 0;

    (void)state;
    for (const struct schema *key = schema_table; key->key; key++) {
        bool read = !strcmp(key->key, "TRAIN.LR_SCHEDULER.NAME");

        if (strncmp(key->key, section, strlen(section)) != 0)
            continue;
        for (int i = 0; (row = schedule_names.entry(schedule_names.table, i)).name; i++)
            read |= named_reads(&row, key->key);
        if (!read)
            fail_msg("no schedule reads %s", key->key);
        n++;
    }
    assert_true(n >= 9);
    for (int i = 0; (row = schedule_names.entry(schedule_names.table, i)).name; i++)
        for (const char *const *key = row.reads; *key; key++)
            if (!schema_find(schema_table, *key))
                fail_msg("%s reads %s, which is no key", row.name, *key);
}

/* Checks the message for keys and values up to NULL; NULL if there must be none. Keys
 * without effect need their origin: tests/golden/config/cli.txt. */
static void check(const char *const *keys, const char *want)
{
    struct problems p = {0};
    struct config cfg;

    config_init(&cfg);
    for (; *keys; keys += 2)
        config_set(&cfg, keys[0], keys[1]);
    schedule_check(&cfg, &p);
    assert_int_equal(p.nerror, want ? 1 : 0);
    if (want && !strstr(p.item[0].text, want))
        fail_msg("'%s', not '%s'", p.item[0].text, want);
    problems_release(&p);
    config_release(&cfg);
}

#define CHECK(want, ...) check((const char *const[]){__VA_ARGS__, NULL}, want)
#define NAME             "TRAIN.LR_SCHEDULER.NAME"
#define STEPS            "TRAIN.LR_SCHEDULER.MULTISTEPS"

static void test_rules(void **state)
{
    (void)state;
    CHECK("TRAIN.LR_SCHEDULER.NAME must be one of cosine, linear, step, multistep, poly, "
          "onecycle, constant, plateau, range, not 'cosin' (did you mean cosine?)",
          NAME, "cosin");
    CHECK(NULL, "TRAIN.EPOCHS", "5");
    CHECK(NULL, "TRAIN.EPOCHS", "5", NAME, "onecycle");
    CHECK(NULL, "TRAIN.EPOCHS", "20");
    CHECK("TRAIN.LR_SCHEDULER.MULTISTEPS has 0 milestones, multistep needs 1 to 32", NAME,
          "multistep");
    CHECK("TRAIN.LR_SCHEDULER.MULTISTEPS must be increasing", NAME, "multistep", STEPS,
          "[30, 30]");
    CHECK("the first of TRAIN.LR_SCHEDULER.MULTISTEPS (19) is within the warm-up of 20 "
          "epochs",
          NAME, "multistep", STEPS, "[19, 30]");
    CHECK(NULL, NAME, "multistep", STEPS, "[20]");
    CHECK(NULL, NAME, "plateau");
    CHECK("TRAIN.LR_SCHEDULER.DECAY_RATE 1: plateau needs one between 0 and 1", NAME,
          "plateau", "TRAIN.LR_SCHEDULER.DECAY_RATE", "1");
    CHECK(NULL, NAME, "step", STEPS, "[30, 30]"); /* which is not read */
}

/* Kinds match the formulas, and rates are multiplied. */
static void test_fill(void **state)
{
    static const struct {
        const char *name;
        int kind;
    } rows[] = {{"cosine", SCHEDULE_COSINE},     {"linear", SCHEDULE_LINEAR},
                {"step", SCHEDULE_STEP},         {"multistep", SCHEDULE_MULTISTEP},
                {"poly", SCHEDULE_POLY},         {"onecycle", SCHEDULE_ONECYCLE},
                {"constant", SCHEDULE_CONSTANT}, {"plateau", SCHEDULE_PLATEAU}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config cfg;
        struct schedule s;

        config_init(&cfg);
        config_set(&cfg, NAME, rows[i].name);
        config_set(&cfg, STEPS, "[30]");
        s = schedule_fill(&cfg, 7, 4);
        assert_int_equal(s.kind, rows[i].kind);
        assert_int_equal(s.total, 300 * 7);
        assert_int_equal(s.warmup, 20 * 7);
        assert_true(s.base == 5e-4 * 4 && s.min == 5e-6 * 4);
        assert_true(s.warmup_start == 5e-7 * 4);
        config_release(&cfg);
    }
}

/* A warmup that would fill the whole run is shortened to a tenth, with a warning. */
static void test_short_run(void **state)
{
    struct problems p = {0};
    struct config cfg;
    struct schedule s;

    (void)state;
    config_init(&cfg);
    config_set(&cfg, "TRAIN.EPOCHS", "5");
    schedule_note_warmup(&cfg, &p);
    assert_int_equal(p.n, 1);
    assert_non_null(strstr(p.item[0].text,
                           "the warm-up of 20 epochs (TRAIN.WARMUP_EPOCHS) would "
                           "cover all 5 epochs of the run: shortened to a "
                           "tenth of the run"));
    s = schedule_fill(&cfg, 70, 1);
    assert_int_equal(s.warmup, 35);
    assert_true(schedule_lr(&s, 35) == s.base);
    config_set(&cfg, "TRAIN.WARMUP_EPOCHS", "5");
    assert_int_equal(schedule_fill(&cfg, 70, 1).warmup, 35);
    config_set(&cfg, "TRAIN.WARMUP_EPOCHS", "4");
    assert_int_equal(schedule_fill(&cfg, 70, 1).warmup, 4 * 70);
    config_set(&cfg, "TRAIN.WARMUP_SHARE", "0.1");
    assert_int_equal(schedule_fill(&cfg, 70, 1).warmup, 35);
    config_set(&cfg, "TRAIN.EPOCHS", "300");
    assert_int_equal(schedule_fill(&cfg, 70, 1).warmup, 4 * 70);
    config_set(&cfg, "TRAIN.EPOCHS", "0");
    assert_int_equal(schedule_fill(&cfg, 70, 1).warmup, 0);
    problems_release(&p);
    config_release(&cfg);
}

/* timm's PlateauLRScheduler: the learning rate of each epoch after warmup. */
static void test_plateau(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/plateau.json", &why), *run;
    size_t i, k;

    (void)state;
    assert_non_null(root);
    json_array_foreach(root, i, run)
    {
        struct schedule s = {
            .kind = SCHEDULE_PLATEAU,
            .warmup = json_integer_value(json_object_get(run, "warmup")),
            .base = json_number_value(json_object_get(run, "base")),
            .warmup_start = json_number_value(json_object_get(run, "warmup_start")),
            .min = json_number_value(json_object_get(run, "min")),
            .rate = json_number_value(json_object_get(run, "rate")),
            .patience = json_integer_value(json_object_get(run, "patience")),
        };
        const json_t *score = json_object_get(run, "scores"), *lr, *rates;
        struct plateau p = PLATEAU_START;

        rates = json_object_get(run, "rates");
        assert_true(json_array_size(rates) >= 20);
        json_array_foreach(rates, k, lr)
        {
            double want = json_number_value(lr), got = control_lr(&s, (int64_t)k, p.lr);
            const json_t *number = json_array_get(score, k);

            if (!(fabs(got - want) <= 1e-12 * want))
                fail_msg("run %zu, epoch %zu: %.17g, not %.17g", i, k, got, want);
            p.score = json_is_number(number) ? json_number_value(number) : (double)NAN;
            if ((int64_t)k + 1 > s.warmup)
                (void)plateau_judge(&p, &s);
        }
    }
    json_decref(root);
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),    cmocka_unit_test(test_rules),
        cmocka_unit_test(test_fill),    cmocka_unit_test(test_short_run),
        cmocka_unit_test(test_plateau),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
