/*
 * CfgNode: yacs's operations, statement by statement (numbers are those of the list of
 * yacs's observed behavior, 1 to 58), and where trainc differs on purpose.
 *
 * Without a row, because C has no equivalent: 1 to 8 and 11 (constructors, attributes,
 * internal names, aliases), the first half of 20 (a dict as a value), 52 (equality,
 * pickling). Not implemented, because no configuration of trainc uses it: new_allowed
 * (17, 42 to 46), deprecated and renamed keys (18, 19, 29 to 32, 53 to 56), clear (51),
 * dump of a tree (57, 58; see print.h). 34 to 41 are in test_yaml.c.
 */
#include <string.h>

#include "tests/config/config_support.h"
#include "tests/test.h"

/* I F S B N L T SUB as in the list, and LF. */
static const char fixture[] = "I: 1\nF: 0.5\nS: abc\nB: true\nN: null\nL: [1, 2]\n"
                              "LF: [0.5]\nT: (1, 2)\nSUB: {X: 1}\n";

struct row {
    int statement;
    char how;          /* l: merge_from_list, y: merge_from_file with this YAML */
    const char *input; /* l: K=V|K=V */
    const char *key;   /* what to check; NULL if nothing may have changed */
    const char *want;  /* its repr */
    const char *says;  /* all problems */
};

static const struct row rows[] = {
    /* 9: case matters; a flat key with a dot is not a path */
    {9, 'y', "i: 5", NULL, NULL, "error: f.yaml:1:1: unknown key i (did you mean I?)\n"},
    {9, 'y', "a.b: 5", NULL, NULL, "error: f.yaml:1:1: unknown key a.b\n"},
    {9, 'y', "SUB.X: 5", NULL, NULL,
     "error: f.yaml:1:1: unknown key 'SUB.X' (sections are nested: write SUB: on "
     "one line and the rest indented below it)\n"},
    {9, 'y', "a-\303\251: 5", NULL, NULL, "error: f.yaml:1:1: unknown key a-\303\251\n"},
    {12, 'l', "", "I", "1", ""},
    {13, 'l', "I=5|I=6", "I", "6", ""},
    /* 14: every error is reported, and the rest is merged */
    {14, 'l', "I=3|F=bad|S=x|B=3", "S", "'x'",
     "error: F must be a float, not 'bad'\n"
     "error: B must be a bool (True or False), not 3 (an int)\n"},
    {15, 'l', "SUB.NOPE=1", NULL, NULL, "error: unknown key SUB.NOPE\n"},
    {15, 'l', "=1", NULL, NULL, "error: unknown key \n"},
    {15, 'l', ".I=1", NULL, NULL, "error: unknown key .I (did you mean I?)\n"},
    {15, 'l', "SUB.=1", NULL, NULL, "error: unknown key SUB.\n"},
    {15, 'l', "SUB..X=1", NULL, NULL,
     "error: unknown key SUB..X (did you mean SUB.X?)\n"},
    {15, 'l', "sub.x=1", NULL, NULL, "error: unknown key sub.x (did you mean SUB.X?)\n"},
    {15, 'l', "L.0=1", NULL, NULL, "error: unknown key L.0\n"},
    {15, 'l', "T.0=1", NULL, NULL, "error: unknown key T.0\n"},
    {16, 'l', "I.X=1", NULL, NULL, "error: unknown key I.X\n"},
    {16, 'l', "N.X=1", NULL, NULL, "error: unknown key N.X\n"},
    {16, 'l', "S.a=1", NULL, NULL, "error: unknown key S.a\n"},
    {20, 'l', "SUB={'X':9}", NULL, NULL,
     "error: SUB is a section: name one of its keys\n"},
    {21, 'l', "I=None", "I", "None", ""},
    {21, 'l', "S=None", "S", "None", ""},
    {21, 'l', "S=null", "S", "'null'", ""},
    {21, 'l', "I=null", NULL, NULL, "error: I must be an int, not 'null'\n"},
    {21, 'l', "SUB=None", NULL, NULL, "error: SUB is a section: name one of its keys\n"},
    /* 21: assigning a value keeps the type */
    {21, 'l', "I=None|I=abc", "I", "None", "error: I must be an int, not 'abc'\n"},
    {23, 'y', "SUB: {Y: 1}", NULL, NULL, "error: f.yaml:1:7: unknown key SUB.Y\n"},
    {25, 'y', "I: 3\nF: bad\nS: x\n", "S", "'x'",
     "error: f.yaml:2:1: F must be a float, not 'bad'\n"},
    {26, 'y', "I: {X: 1}", NULL, NULL,
     "error: f.yaml:1:1: I must be an int, not a section\n"},
    {26, 'y', "N: {X: 1}", NULL, NULL,
     "error: f.yaml:1:1: N must be a str, not a section\n"},
    {26, 'y', "SUB: 5", NULL, NULL,
     "error: f.yaml:1:1: SUB is a section: write its keys indented below it\n"},
    {26, 'y', "SUB:", NULL, NULL,
     "error: f.yaml:1:1: SUB is a section: write its keys indented below it\n"},
    {26, 'y', "SUB: {}", "SUB", "{X: 1}", ""},
    /* 27: a str key keeps the text */
    {27, 'y', "S: 5", "S", "'5'", ""},
    {27, 'y', "S: '5'", "S", "'5'", ""},
    {27, 'y', "T: (7,8)", "T", "(7, 8)", ""},
    /* 28: items are converted like the list's (yacs leaves '1e-3') */
    {28, 'y', "LF: [1e-3]", "LF", "[0.001]", ""},
    {28, 'y', "L: [(1,2)]", NULL, NULL,
     "error: f.yaml:1:1: L must be a list: item 0 must be an int, not '(1'\n"},
    {33, 'y', "5: 1", NULL, NULL, "error: f.yaml:1:1: unknown key 5\n"},
    /* YAML scalars for the fixture */
    {0, 'y', "I: 0o10", "I", "8", ""},
    {0, 'y', "I: 010", "I", "8", ""},
    {0, 'y', "I: '5'", "I", "5", ""},
    {0, 'y', "I: 1:30", "I", "90", ""},
    {0, 'y', "B: on", "B", "True", ""},
    {0, 'y', "B: \"True\"", "B", "True", ""},
    {0, 'y', "S: None", "S", "None", ""},
    {0, 'y', "S: \"None\"", "S", "'None'", ""},
    {0, 'y', "S: \"'5'\"", "S", "'5'", ""},
    {0, 'y', "T: (3, 4)", "T", "(3, 4)", ""},
    {0, 'y', "T: 3,4", "T", "(3, 4)", ""},
    {0, 'y', "T: [3, 4]", "T", "(3, 4)", ""},
    {0, 'y', "T: [700,]", "T", "(700,)", ""},
    {0, 'y', "F: 5", "F", "5.0", ""},
    {0, 'y', "F: 1e-3", "F", "0.001", ""},
    {0, 'y', "F: .inf", "F", "inf", ""},
    {0, 'y', "F: 1e400", "F", "inf", ""},
};

static void show_key(struct strbuf *s, const struct cfgnode *n, const char *key)
{
    const struct cfgnode_entry *e = cfgnode_find(n, key);

    assert_non_null(e);
    if (e->node)
        support_show(s, e->node);
    else
        value_add_repr(s, &e->value);
}

static void run(const struct row *row, struct cfgnode *n)
{
    struct strbuf says = STRBUF_INIT, got = STRBUF_INIT, before = STRBUF_INIT;
    struct problems p = {0};

    support_show(&before, n);
    (row->how == 'l' ? support_merge_list : support_merge_yaml)(n, row->input, &p);
    assert_true(!p.nerror == !*row->says);
    support_problems(&says, &p);
    if (strcmp(says.buf, row->says) != 0)
        fail_msg("%d: '%s' says\n%swant\n%s", row->statement, row->input, says.buf,
                 row->says);
    if (row->key)
        show_key(&got, n, row->key);
    else
        support_show(&got, n);
    if (strcmp(got.buf, row->key ? row->want : before.buf) != 0)
        fail_msg("%d: '%s' makes %s", row->statement, row->input, got.buf);
    strbuf_release(&says);
    strbuf_release(&got);
    strbuf_release(&before);
}

static void test_statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cfgnode *n = support_tree(fixture);

        run(&rows[i], n);
        cfgnode_free(n);
    }
}

/* By full name, and level by level. */
static void test_find(void **state)
{
    struct cfgnode *n = cfgnode_new();
    struct value v = value_int(3);

    (void)state;
    (void)cfgnode_set(cfgnode_add(n, "a"), "b", &v, NULL);
    assert_int_equal(cfgnode_find(n, "a.b")->value.i, 3);
    assert_null(cfgnode_find(n, "a.c"));
    assert_null(cfgnode_find(n, "a.b.c"));
    assert_null(cfgnode_find(n, ""));
    assert_ptr_equal(cfgnode_add(n, "a"), cfgnode_entry(n, "a")->node);
    assert_int_equal(n->n, 1);
    cfgnode_free(n);
}

/*
 * Unlike yacs, a merge continues after an error and keeps no state: the same error is
 * reported again for another tree.
 */
static void test_repeated(void **state)
{
    struct strbuf says = STRBUF_INIT;
    struct problems p = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct cfgnode *n = support_tree(fixture);

        support_merge_yaml(n, "F: x\nI: 5", &p);
        assert_int_equal(cfgnode_find(n, "I")->value.i, 5);
        assert_true(cfgnode_find(n, "F")->bad);
        assert_false(cfgnode_find(n, "I")->bad);
        assert_int_equal(p.nerror, 1);
        support_merge_list(n, "F=2", &p); /* a later value replaces the wrong one */
        assert_false(cfgnode_find(n, "F")->bad);
        cfgnode_free(n);
    }
    support_problems(&says, &p);
    assert_string_equal(says.buf, "error: f.yaml:1:1: F must be a float, not 'x'\n");
    strbuf_release(&says);
}

/* 24: merged values are copies. 50: a clone is a copy. */
static void test_copies(void **state)
{
    struct cfgnode *a = support_tree(fixture), *b = cfgnode_clone(a), *src;
    struct problems p = {0};
    struct value v = value_int(9);

    (void)state;
    src = support_tree("SUB: {X: 5}");
    cfgnode_merge(a, src, &p);
    (void)cfgnode_set(cfgnode_entry(src, "SUB")->node, "X", &v, NULL);
    cfgnode_free(src);
    assert_int_equal(cfgnode_find(a, "SUB.X")->value.i, 5);
    assert_int_equal(cfgnode_find(b, "SUB.X")->value.i, 1);
    cfgnode_freeze(a);
    src = cfgnode_clone(a); /* with types and names, and not frozen */
    cfgnode_free(a);
    assert_false(src->frozen || cfgnode_entry(src, "SUB")->node->frozen);
    support_merge_list(src, "SUB.X=x", &p);
    assert_string_equal(p.item[0].text, "SUB.X must be an int, not 'x'");
    problems_release(&p);
    cfgnode_free(src);
    cfgnode_free(b);
}

/* 47, 48: a frozen tree rejects every change, including merges (yacs allows them). */
static void test_frozen(void **state)
{
    struct cfgnode *n = support_tree(fixture);
    struct strbuf before = STRBUF_INIT, after = STRBUF_INIT, says = STRBUF_INIT;
    struct problems p = {0};

    (void)state;
    support_show(&before, n);
    cfgnode_freeze(n);
    assert_true(n->frozen && cfgnode_entry(n, "SUB")->node->frozen);
    support_merge_list(n, "SUB.X=2", &p);
    support_merge_yaml(n, "I: 2\nSUB: {X: 2}\n", &p);
    support_show(&after, n);
    assert_string_equal(after.buf, before.buf);
    support_problems(&says, &p);
    assert_string_equal(
        says.buf,
        "error: attempted to change SUB.X, but the configuration is frozen\n"
        "error: f.yaml:1:1: attempted to change I, but the configuration is frozen\n"
        "error: f.yaml:2:7: attempted to change SUB.X, but the configuration is "
        "frozen\n");
    cfgnode_defrost(n);
    support_merge_list(n, "SUB.X=2", &p);
    assert_int_equal(p.nerror, 0);
    assert_int_equal(cfgnode_find(n, "SUB.X")->value.i, 2);
    strbuf_release(&before);
    strbuf_release(&after);
    strbuf_release(&says);
    cfgnode_free(n);
}

/* A list of dicts without a schema has any fields. */
static void test_dicts(void **state)
{
    struct cfgnode *n = support_tree("D: [{a: 1}]");
    struct strbuf got = STRBUF_INIT;
    struct problems p = {0};

    (void)state;
    support_merge_yaml(n, "D: [{b: 2}, {}]", &p);
    assert_int_equal(p.nerror, 0);
    show_key(&got, n, "D");
    assert_string_equal(got.buf, "[{'b': 2}, {}]");
    problems_release(&p);
    strbuf_release(&got);
    cfgnode_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements), cmocka_unit_test(test_find),
        cmocka_unit_test(test_repeated),   cmocka_unit_test(test_copies),
        cmocka_unit_test(test_frozen),     cmocka_unit_test(test_dicts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
