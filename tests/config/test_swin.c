/*
 * Swin's 130 keys with their types and defaults, and Swin's 46 configurations, which
 * must load as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/literal.h"
#include "config/load.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

#define GOLDEN "tests/golden/config/"

/* Calls `row` with the tab-separated fields of each line that is no comment. */
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

/* Lists and tuples are one to us; None has no type of its own. */
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

    struct value v = literal_parse(&mem, field[1]), def = schema_default(row, &mem);

    if (!same_type(row, v.type))
        fail_msg("%s is not a %s", field[0], value_type_name(v.type));
    if (v.type == VALUE_TUPLE)
        v.type = VALUE_LIST;
    value_add_repr(&got, &def);
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

/* --- configurations
 * -------------------------------------------------------------------------- */

static void expect(struct cfgnode *want, const char *key, const char *text)
{
    struct problems p = {0};
    struct arena mem = {0};
    struct value v = value_str(&mem, text);

    v.text = v.s;
    cfgnode_merge_pair(want, key, &v, NULL, &p);
    assert_int_equal(p.n, 0);
    arena_release(&mem);
}

static void expect_family(struct cfgnode *want, const char *section, const char *key,
                          const char *text)
{
    char *full = xasprintf("MODEL.%s.%s", section, key);

    expect(want, full, text);
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

/* The defaults with what the table says of the file. */
static struct cfgnode *expected(char **f)
{
    struct cfgnode *want = schema_tree(schema_table);
    char *save = NULL;

    expect(want, "MODEL.TYPE", f[TYPE]);
    expect(want, "MODEL.NAME", f[NAME]);
    expect(want, "DATA.IMG_SIZE", f[IMG_SIZE]);
    expect_family(want, f[FAMILY], "EMBED_DIM", f[EMBED_DIM]);
    expect_family(want, f[FAMILY], "DEPTHS", f[DEPTHS]);
    expect_family(want, f[FAMILY], "NUM_HEADS", f[NUM_HEADS]);
    expect_family(want, f[FAMILY], "WINDOW_SIZE", f[WINDOW_SIZE]);
    expect(want, "MODEL.DROP_PATH_RATE", f[DROP_PATH]);
    expect(want, "TRAIN.EPOCHS", f[EPOCHS]);
    expect(want, "TRAIN.WARMUP_EPOCHS", f[WARMUP]);
    expect(want, "TRAIN.WEIGHT_DECAY", f[WEIGHT_DECAY]);
    expect(want, "TRAIN.BASE_LR", f[BASE_LR]);
    expect(want, "TRAIN.WARMUP_LR", f[WARMUP_LR]);
    expect(want, "TRAIN.MIN_LR", f[MIN_LR]);
    for (char *w = strtok_r(f[OTHER], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        char *eq = strchr(w, '=');

        if (!eq)
            continue; /* "-": nothing else */
        *eq = '\0';
        expect(want, w, eq + 1);
    }
    return want;
}

static void config_row(char **f)
{
    struct cfgnode *want = expected(f), *tree = schema_tree(schema_table);
    char *path = xasprintf("configs/%s.yaml", f[FILE_]);
    struct problems p = {0};
    struct strbuf says = STRBUF_INIT;

    cfgnode_merge_chain(tree, path, "--cfg", &p);
    config_check(tree, schema_table, &p);
    if (p.nerror) {
        support_problems(&says, &p);
        fail_msg("%s", says.buf);
    }
    for (const struct schema *row = schema_table; row->key; row++) {
        struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

        value_add_repr(&a, &cfgnode_find(tree, row->key)->value);
        value_add_repr(&b, &cfgnode_find(want, row->key)->value);
        if (strcmp(a.buf, b.buf) != 0)
            fail_msg("%s: %s is %s, want %s", path, row->key, a.buf, b.buf);
        strbuf_release(&a);
        strbuf_release(&b);
    }
    problems_release(&p);
    strbuf_release(&says);
    cfgnode_free(want);
    cfgnode_free(tree);
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
        cmocka_unit_test(test_configs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
