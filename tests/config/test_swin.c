/*
 * Swin's 130 keys with their types and defaults, and Swin's 46 configurations, which must
 * load unchanged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/cfgnode.h"
#include "config/config.h"
#include "config/literal.h"
#include "config/schema.h"
#include "tests/config/config_support.h"
#include "tests/config_init.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/config/"

/* Calls `row` with the tab-separated fields of each line that is not a comment. */
static int each_line(const char *path, int nfields, void (*row)(char **field))
{
    char *text = file_read(path, &(size_t){0}), *save = NULL;
    int n = 0;

    assert_non_null(text);
    for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
        char *field[20], *tab = NULL;
        int i = 0;

        if (*l == '#')
            continue;
        for (char *f = strtok_r(l, "\t", &tab); f; f = strtok_r(NULL, "\t", &tab)) {
            assert_true(i < nfields);
            field[i++] = f;
        }
        assert_int_equal(i, nfields);
        row(field);
        n++;
    }
    free(text);
    return n;
}

/* Lists and tuples are one type here; None has no type of its own. */
static bool same_type(const struct schema *row, enum value_type type)
{
    enum value_type ours = schema_decl(row).type;

    if (type == VALUE_NONE)
        return row->nullable;
    return ours == type || (ours == VALUE_LIST && type == VALUE_TUPLE);
}

static void default_row(char **field)
{
    const struct schema *row = schema_find(schema_table, field[0]);
    struct arena mem = {0};
    struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;

    if (!row)
        fail_msg("there is no key %s", field[0]);

    struct value v = literal_parse(&mem, field[1]);

    if (!same_type(row, v.type))
        fail_msg("%s is not a %s", field[0], value_type_name(v.type));
    if (v.type == VALUE_TUPLE)
        v.type = VALUE_LIST;
    value_add_repr(&got, config_default(row->key));
    value_add_repr(&want, &v);
    if (strcmp(got.buf, want.buf) != 0)
        fail_msg("%s is %s, want %s", field[0], got.buf, want.buf);
    strbuf_release(&got);
    strbuf_release(&want);
    arena_release(&mem);
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(each_line(GOLDEN "defaults.tsv", 2, default_row), 130);
}

/* yacs accepts None for any leaf. If Swin then continues, so does trainc: a switch is
 * off, a string empty, and the rest is listed. Otherwise Swin ends with a TypeError. */
static void none_row(char **field)
{
    static const char *const listed[][2] = {{"MODEL.SWIN.QK_SCALE", "None"},
                                            {"MODEL.SWIN_MOE.QK_SCALE", "None"},
                                            {"AUG.CUTMIX_MINMAX", "None"},
                                            {"AUG.AUTO_AUGMENT", "'none'"},
                                            {"TRAIN.CLIP_GRAD", "0.0"}};
    const struct schema *row = schema_find(schema_table, field[0]);
    const struct value *def = config_default(row->key);
    bool text = def->type == VALUE_STR && !*def->s;
    const char *want = row->type == SCHEMA_BOOL ? "False" : text ? "''" : NULL;
    struct cfgnode *tree = cfgnode_clone(config_defaults());
    struct cfgnode_pair pair = {row->key, "None", "--opts #1"};
    struct strbuf got = STRBUF_INIT;
    struct problems p = {0};

    for (size_t i = 0; i < sizeof(listed) / sizeof(*listed); i++)
        want = strcmp(row->key, listed[i][0]) ? want : listed[i][1];
    if (strcmp(row->key, "BASE") != 0) /* works only in files */
        cfgnode_merge_list(tree, &pair, 1, &p);
    config_check(tree, &p);
    value_add_repr(&got, &cfgnode_find(tree, row->key)->value);
    if (want && strcmp(got.buf, want) != 0)
        fail_msg("None for %s is %s, want %s", row->key, got.buf, want);
    if (!want && !p.nerror && strcmp(row->key, "BASE") != 0)
        fail_msg("None for %s is %s", row->key, got.buf);
    problems_release(&p);
    strbuf_release(&got);
    cfgnode_free(tree);
}

static void test_none(void **state)
{
    (void)state;
    assert_int_equal(each_line(GOLDEN "defaults.tsv", 2, none_row), 130);
}

/* --- configurations ----------------------------------------------------------------- */

static void expect_family(struct config *want, const char *section, const char *key,
                          const char *text)
{
    char *full = xasprintf("MODEL.%s.%s", section, key);

    config_set(want, full, text);
    free(full);
}

enum {
    FILE_,
    TYPE,
    NAME,
    FAMILY,
    IMG_SIZE,
    EMBED_DIM,
    DEPTHS,
    NUM_HEADS,
    WINDOW_SIZE,
    DROP_PATH,
    EPOCHS,
    WARMUP,
    WEIGHT_DECAY,
    BASE_LR,
    WARMUP_LR,
    MIN_LR,
    OTHER,
    FIELDS
};

/* The defaults with the table's settings of the file. */
static void expected(struct config *want, char **f)
{
    char *save = NULL;

    config_init(want);
    config_set(want, "MODEL.TYPE", f[TYPE]);
    config_set(want, "MODEL.NAME", f[NAME]);
    config_set(want, "DATA.IMG_SIZE", f[IMG_SIZE]);
    expect_family(want, f[FAMILY], "EMBED_DIM", f[EMBED_DIM]);
    expect_family(want, f[FAMILY], "DEPTHS", f[DEPTHS]);
    expect_family(want, f[FAMILY], "NUM_HEADS", f[NUM_HEADS]);
    expect_family(want, f[FAMILY], "WINDOW_SIZE", f[WINDOW_SIZE]);
    config_set(want, "MODEL.DROP_PATH_RATE", f[DROP_PATH]);
    config_set(want, "TRAIN.EPOCHS", f[EPOCHS]);
    config_set(want, "TRAIN.WARMUP_EPOCHS", f[WARMUP]);
    config_set(want, "TRAIN.WEIGHT_DECAY", f[WEIGHT_DECAY]);
    config_set(want, "TRAIN.BASE_LR", f[BASE_LR]);
    config_set(want, "TRAIN.WARMUP_LR", f[WARMUP_LR]);
    config_set(want, "TRAIN.MIN_LR", f[MIN_LR]);
    for (char *w = strtok_r(f[OTHER], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(w, '=');

        if (!eq)
            continue; /* "-": no other settings */
        *eq = '\0';
        config_set(want, w, eq + 1);
    }
}

static void config_row(char **f)
{
    char *path = xasprintf("configs/%s.yaml", f[FILE_]);
    struct strbuf says = STRBUF_INIT;
    struct config cfg, want;

    expected(&want, f);
    if (!support_load(&cfg, &says, "--cfg %s", path))
        fail_msg("%s", says.buf);
    for (const struct schema *row = schema_table; row->key; row++) {
        struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

        value_add_repr(&a, config_get(&cfg, row->key));
        value_add_repr(&b, config_get(&want, row->key));
        if (strcmp(a.buf, b.buf) != 0)
            fail_msg("%s: %s is %s, want %s", path, row->key, a.buf, b.buf);
        strbuf_release(&a);
        strbuf_release(&b);
    }
    strbuf_release(&says);
    config_release(&cfg);
    config_release(&want);
    free(path);
}

static void test_configs(void **state)
{
    (void)state;
    assert_int_equal(each_line(GOLDEN "swin.tsv", FIELDS, config_row), 46);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_configs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
