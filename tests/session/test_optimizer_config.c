/* The keys of TRAIN.OPTIMIZER against the rows of the optimizers. */
#include <string.h>

#include "config/schema.h"
#include "session/optimizer_config.h"
#include "tests/config_init.h"
#include "tests/test.h"

static const char section[] = "TRAIN.OPTIMIZER.";

static bool reads(const struct optimizer *o, const char *key)
{
    return named_reads(&(struct named){.reads = o->reads}, key);
}

/* Every key is read by an optimizer, and every key that one reads exists. */
static void test_keys(void **state)
{
    int n = 0;

    (void)state;
    for (const struct schema *row = schema_table; row->key; row++) {
        bool read = !strcmp(row->key, "TRAIN.OPTIMIZER.NAME") ||
                    !strcmp(row->key, "TRAIN.OPTIMIZER.GROUPS");

        if (strncmp(row->key, section, strlen(section)) != 0)
            continue;
        for (const struct optimizer *o = optimizer_table; o->name; o++)
            read |= reads(o, row->key);
        if (!read)
            fail_msg("no optimizer reads %s", row->key);
        n++;
    }
    assert_true(n >= 6);
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        for (const char *const *key = o->reads; *key; key++)
            if (!schema_find(schema_table, *key))
                fail_msg("%s reads %s, which is no key", o->name, *key);
}

/* Checks the message about the name; NULL if there must be none. Keys without effect need
 * their origin: tests/golden/config/cli.txt. */
static void check_name(const char *name, const char *want)
{
    struct problems p = {0};
    struct config cfg;

    config_init(&cfg);
    config_set(&cfg, "TRAIN.OPTIMIZER.NAME", name);
    optimizer_config_check(&cfg, &p);
    assert_int_equal(p.nerror, want ? 1 : 0);
    if (want && !strstr(p.item[0].text, want))
        fail_msg("'%s', not '%s'", p.item[0].text, want);
    if (!want)
        assert_string_equal(optimizer_of_config(&cfg)->name, "adamw");
    problems_release(&p);
    config_release(&cfg);
}

static void test_names(void **state)
{
    (void)state;
    check_name("adamw", NULL);
    check_name("AdamW", NULL);
    check_name("adamm", "TRAIN.OPTIMIZER.NAME must be one of adamw, ");
    check_name("rmspop", ", not 'rmspop' (did you mean rmsprop?)");
    check_name("", ", not ''");
    check_name("fused_adam",
               "TRAIN.OPTIMIZER.NAME fused_adam is Apex's name; every optimizer here is "
               "fused: take adamw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
