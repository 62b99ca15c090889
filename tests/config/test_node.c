/*
 * CfgNode: yacs's operations, statement by statement (numbers as in the list of yacs's
 * observed behaviour, 1 to 58), with trainc's answer where it differs on purpose.
 *
 * Without a row, because C has no such thing: 3 (objects in lists), 5 to 8 and 11
 * (attributes, internal names, aliases), 20's first half (a dict as a value), 52's
 * pickling. 34 to 41 are in test_yaml.c.
 */
#include <string.h>

#include "config/dump.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* I F S B N L T SUB as in the list; KW allows new keys. */
static const char fixture[] = "I: 1\nF: 0.5\nS: abc\nB: true\nN: null\nL: [1, 2]\n"
                              "T: (1, 2)\nSUB: {X: 1}\nKW: {a: 1}\n";

/* D is deprecated and exists; R was renamed and exists; GONE.* have no section. */
static struct cfgnode *make(void)
{
    struct cfgnode *n = support_tree(fixture);

    cfgnode_entry(n, "KW")->node->new_allowed = true;
    return n;
}

static struct cfgnode *make_noted(void)
{
    struct cfgnode *n = support_tree("D: 1\nR: 1\nSUB: {X: 1}\nKW: {a: 1}\n");

    cfgnode_entry(n, "KW")->node->new_allowed = true;
    assert_true(cfgnode_deprecate(n, "KW.D", NULL));
    assert_true(cfgnode_rename(n, "KW.R", "SUB.X", NULL));
    assert_true(cfgnode_deprecate(n, "D", NULL));
    assert_true(cfgnode_deprecate(n, "GONE.D", "nobody needs it"));
    assert_true(cfgnode_rename(n, "R", "SUB.X", NULL));
    assert_true(cfgnode_rename(n, "GONE.R", "SUB.X", "it moved"));
    return n;
}

struct row {
    int statement;
    char how;          /* l: merge_from_list, y: merge_from_file with this YAML */
    const char *input; /* l: K=V|K=V */
    const char *key;   /* to look at afterwards; NULL: nothing may have changed */
    const char *want;  /* its repr */
    const char *says;  /* all problems */
};

static const struct row rows[] = {
    /* 9: case counts; a flat key with a dot is no path */
    {9, 'y', "i: 5", NULL, NULL, "error: f.yaml:1:1: unknown key i (did you mean I?)\n"},
    {9, 'y', "a.b: 5", NULL, NULL, "error: f.yaml:1:1: unknown key a.b\n"},
    {9, 'y', "SUB.X: 5", NULL, NULL,
     "error: f.yaml:1:1: unknown key 'SUB.X' (sections are nested: SUB: on one line, the "
     "rest indented below it)\n"},
    {9, 'y', "a-\303\251: 5", NULL, NULL, "error: f.yaml:1:1: unknown key a-\303\251\n"},
    {12, 'l', "", "I", "1", ""},
    {12, 'l', "I=5|S", NULL, NULL,
     "error: a list of pairs has odd length: 'S' has no value\n"},
    {13, 'l', "I=5|I=6", "I", "6", ""},
    /* 14: all or nothing, and every mistake is reported */
    {14, 'l', "I=3|F=bad|S=x|B=3", NULL, NULL,
     "error: F must be a float, not 'bad'\n"
     "error: B must be a bool (True or False), not 3 (an int)\n"},
    {15, 'l', "SUB.NOPE=1", NULL, NULL, "error: unknown key SUB.NOPE\n"},
    {15, 'l', "=1", NULL, NULL, "error: unknown key \n"},
    {15, 'l', ".I=1", NULL, NULL, "error: unknown key .I (did you mean I?)\n"},
    {15, 'l', "SUB.=1", NULL, NULL, "error: unknown key SUB. (did you mean SUB?)\n"},
    {15, 'l', "SUB..X=1", NULL, NULL,
     "error: unknown key SUB..X (did you mean SUB.X?)\n"},
    {15, 'l', "sub.x=1", NULL, NULL, "error: unknown key sub.x (did you mean SUB.X?)\n"},
    {15, 'l', "L.0=1", NULL, NULL, "error: unknown key L.0\n"},
    {15, 'l', "T.0=1", NULL, NULL, "error: unknown key T.0\n"},
    {16, 'l', "I.X=1", NULL, NULL, "error: unknown key I.X\n"},
    {16, 'l', "N.X=1", NULL, NULL, "error: unknown key N.X\n"},
    {16, 'l', "S.a=1", NULL, NULL, "error: unknown key S.a\n"},
    /* 17: yacs ignores new_allowed in lists */
    {17, 'l', "KW.b=3", "KW", "{a: 1, b: 3}", ""},
    {17, 'l', "KW.B.c=3", NULL, NULL, "error: unknown key KW.B.c\n"},
    {20, 'l', "SUB={'X':9}", NULL, NULL,
     "error: SUB is a section: name one of its keys\n"},
    {21, 'l', "I=None", "I", "None", ""},
    {21, 'l', "S=None", "S", "None", ""},
    {21, 'l', "S=null", "S", "'null'", ""},
    {21, 'l', "I=null", NULL, NULL, "error: I must be an int, not 'null'\n"},
    {21, 'l', "SUB=None", NULL, NULL, "error: SUB is a section: name one of its keys\n"},
    /* 21: the type is not forgotten with the value */
    {21, 'l', "I=None|I=abc", NULL, NULL, "error: I must be an int, not 'abc'\n"},
    {21, 'l', "N=5", "N", "5", ""},
    {21, 'l', "N=5|N=abc", NULL, NULL, "error: N must be an int, not 'abc'\n"},
    {23, 'y', "SUB: {Y: 1}", NULL, NULL,
     "error: f.yaml:1:7: unknown key SUB.Y (did you "
     "mean SUB.X?)\n"},
    {25, 'y', "I: 3\nF: bad\nS: x\n", NULL, NULL,
     "error: f.yaml:2:1: F must be a float, not 'bad'\n"},
    {26, 'y', "I: {X: 1}", NULL, NULL,
     "error: f.yaml:1:1: I must be an int, not a section\n"},
    {26, 'y', "N: {X: 1}", NULL, NULL,
     "error: f.yaml:1:1: N must be a value, not a section\n"},
    {26, 'y', "SUB: 5", NULL, NULL,
     "error: f.yaml:1:1: SUB is a section: its keys go below it, indented\n"},
    {26, 'y', "SUB:", NULL, NULL,
     "error: f.yaml:1:1: SUB is a section: its keys go below it, indented\n"},
    {26, 'y', "SUB: {}", "SUB", "{X: 1}", ""},
    /* 27: a str key takes the text */
    {27, 'y', "S: 5", "S", "'5'", ""},
    {27, 'y', "S: '5'", "S", "'5'", ""},
    {27, 'y', "T: (7,8)", "T", "(7, 8)", ""},
    /* 28: items follow the rules of their list (yacs leaves '1e-3') */
    {28, 'y', "L: [1e-3]", "L", "[0.001]", ""},
    {28, 'y', "L: [(1,2)]", "L", "['(1', '2)']", ""},
    /* 10: keys stay in the order in which they came */
    {10, 'y', "KW: {z: 1, b: 2}", "KW", "{a: 1, z: 1, b: 2}", ""},
    {33, 'y', "KW: {5: 1}", "KW", "{a: 1, 5: 1}", ""},
    {33, 'y', "5: 1", NULL, NULL, "error: f.yaml:1:1: unknown key 5\n"},
    {44, 'y', "KW:\n  b: 3\n  t: (1, 2)\n  e: 1e-3", "KW",
     "{a: 1, b: 3, t: (1, 2), e: 0.001}", ""},
    /* 44: yacs decodes quoted texts too */
    {44, 'y', "KW: {b: '3'}", "KW", "{a: 1, b: '3'}", ""},
    {44, 'y', "KW: {B: {c: '4', e: 1e-3}}", "KW", "{a: 1, B: {c: '4', e: '1e-3'}}", ""},
    {46, 'y', "KW: {a: 2, B: {c: 2, D: {e: '3'}}}", "KW",
     "{a: 2, B: {c: 2, D: {e: '3'}}}", ""},
    /* scalars of YAML on the fixture */
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

/* The same on a tree with notes: one answer for files and lists (yacs has two). */
static const struct row noted_rows[] = {
    {18, 'l', "D=5", "D", "1", "warning: Deprecated config key (ignoring): D\n"},
    {18, 'l', "GONE.D=5", "D", "1",
     "warning: Deprecated config key (ignoring): GONE.D: nobody needs it\n"},
    {29, 'y', "D: 5", "D", "1",
     "warning: f.yaml:1:1: Deprecated config key (ignoring): D\n"},
    {31, 'y', "GONE: {D: 5}", "D", "1",
     "warning: f.yaml:1:8: Deprecated config key (ignoring): GONE.D: nobody needs it\n"},
    /* 32: also where new keys are allowed (yacs adds them) */
    {32, 'y', "KW: {D: 5, n: 1}", "KW", "{a: 1, n: 1}",
     "warning: f.yaml:1:6: Deprecated config key (ignoring): KW.D\n"},
    {32, 'y', "KW: {R: 5}", NULL, NULL,
     "error: f.yaml:1:6: Key KW.R was renamed to SUB.X; please update your config.\n"},
    {19, 'l', "R=5", NULL, NULL,
     "error: Key R was renamed to SUB.X; please update your config.\n"},
    {30, 'y', "R: 5", NULL, NULL,
     "error: f.yaml:1:1: Key R was renamed to SUB.X; please update your config.\n"},
    {55, 'y', "GONE: {R: 5, Q: 3}", NULL, NULL,
     "error: f.yaml:1:8: Key GONE.R was renamed to SUB.X; please update your config. "
     "Note: "
     "it moved\n"
     "error: f.yaml:1:14: unknown key GONE.Q\n"},
    {55, 'l', "GONE.R=5", NULL, NULL,
     "error: Key GONE.R was renamed to SUB.X; please update your config. Note: it "
     "moved\n"},
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
    struct cfgnode *before = cfgnode_clone(n);
    struct strbuf says = STRBUF_INIT, got = STRBUF_INIT;
    struct problems p = {0};
    bool ok = row->how == 'l' ? support_merge_list(n, row->input, &p)
                              : support_merge_yaml(n, row->input, &p);
    bool errors = p.nerror > 0;

    support_problems(&says, &p);
    if (ok == errors)
        fail_msg("%d: '%s': ok %d, but %s", row->statement, row->input, ok, says.buf);
    if (strcmp(says.buf, row->says) != 0)
        fail_msg("%d: '%s' says\n%swant\n%s", row->statement, row->input, says.buf,
                 row->says);
    if (row->key)
        show_key(&got, n, row->key);
    if (row->key ? strcmp(got.buf, row->want) != 0 : !cfgnode_equal(n, before))
        fail_msg("%d: '%s' makes %s", row->statement, row->input, got.buf);
    strbuf_release(&says);
    strbuf_release(&got);
    cfgnode_free(before);
}

static void test_statements(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cfgnode *n = make();

        run(&rows[i], n);
        cfgnode_free(n);
    }
    for (size_t i = 0; i < sizeof(noted_rows) / sizeof(*noted_rows); i++) {
        struct cfgnode *n = make_noted();

        run(&noted_rows[i], n);
        cfgnode_free(n);
    }
}

/* 1, 2, 4: construction, and what a leaf may hold. */
static void test_leaves(void **state)
{
    struct cfgnode *n = cfgnode_new();
    struct problems p = {0};
    struct value other = {.type = VALUE_OTHER}, v = value_int(3);

    (void)state;
    assert_int_equal(n->n, 0);
    assert_false(cfgnode_set(n, "D", &other, NULL, &p));
    assert_int_equal(p.nerror, 1);
    assert_true(cfgnode_set(cfgnode_add(n, "a"), "b", &v, NULL, &p));
    assert_int_equal(cfgnode_find(n, "a.b")->value.i, 3);
    assert_null(cfgnode_find(n, "a.c"));
    assert_null(cfgnode_find(n, "a.b.c"));
    assert_ptr_equal(cfgnode_add(n, "a"), cfgnode_entry(n, "a")->node);
    assert_true(cfgnode_remove(n, "a", &p));
    assert_false(cfgnode_remove(n, "a", &p));
    assert_int_equal(n->n, 0);
    problems_release(&p);
    cfgnode_free(n);
}

/* 5: assignment, unlike a merge, does not look at the old type. */
static void test_assignment(void **state)
{
    struct cfgnode *n = make();
    struct problems p = {0};
    struct arena mem = {0};
    struct value text = value_str(&mem, "text");

    (void)state;
    assert_true(cfgnode_set(n, "I", &text, NULL, &p));
    assert_string_equal(cfgnode_find(n, "I")->value.s, "text");
    arena_release(&mem);
    cfgnode_free(n);
}

/* 24: what was merged is a copy. 22, 50: so is a clone, notes and flags included. */
static void test_copies(void **state)
{
    struct cfgnode *a = make_noted(), *b = cfgnode_clone(a), *from;
    struct problems p = {0};
    struct value v = value_int(9);
    struct strbuf says = STRBUF_INIT;

    (void)state;
    from = support_tree("SUB: {X: 5}");
    assert_true(cfgnode_merge(a, from, &p));
    assert_true(cfgnode_set(cfgnode_entry(from, "SUB")->node, "X", &v, NULL, &p));
    cfgnode_free(from);
    assert_int_equal(cfgnode_find(a, "SUB.X")->value.i, 5);
    assert_int_equal(cfgnode_find(b, "SUB.X")->value.i, 1);
    cfgnode_free(a);

    assert_false(support_merge_list(b, "R=5", &p));
    support_problems(&says, &p);
    assert_string_equal(
        says.buf, "error: Key R was renamed to SUB.X; please update your config.\n");
    cfgnode_freeze(b);
    a = cfgnode_clone(b);
    cfgnode_free(b);
    assert_true(a->frozen && cfgnode_entry(a, "SUB")->node->frozen);
    cfgnode_free(a);
    strbuf_release(&says);
}

/* 47, 48: frozen refuses every change, merges and clear included (yacs lets them by). */
static void test_frozen(void **state)
{
    struct cfgnode *n = make(), *before = cfgnode_clone(n);
    struct problems p = {0};
    struct strbuf says = STRBUF_INIT;
    struct value v = value_int(2);

    (void)state;
    cfgnode_freeze(n);
    assert_true(n->frozen && cfgnode_entry(n, "SUB")->node->frozen);
    assert_false(cfgnode_set(n, "I", &v, NULL, &p));
    assert_false(cfgnode_set(n, "NEW", &v, NULL, &p));
    assert_false(cfgnode_remove(n, "I", &p));
    assert_false(cfgnode_clear(n, &p));
    assert_false(support_merge_list(n, "SUB.X=2", &p));
    assert_false(support_merge_yaml(n, "I: 2", &p));
    assert_false(support_merge_yaml(n, "KW: {new: 2}", &p));
    assert_true(cfgnode_equal(n, before));
    support_problems(&says, &p);
    assert_non_null(strstr(says.buf, "error: f.yaml:1:1: attempted to change I, but the "
                                     "configuration is frozen\n"));

    /* 49: a frozen child below a thawed parent stays frozen until it is thawed itself */
    n->frozen = false;
    assert_true(support_merge_list(n, "I=2", &p));
    assert_false(support_merge_list(n, "SUB.X=2", &p));
    problems_release(&p);
    cfgnode_defrost(n);
    assert_true(support_merge_list(n, "SUB.X=2", &p));
    assert_true(cfgnode_clear(n, &p));
    assert_int_equal(n->n, 0);
    strbuf_release(&says);
    cfgnode_free(n);
    cfgnode_free(before);
}

/* 51: clear takes the keys and leaves the rest. */
static void test_clear(void **state)
{
    struct cfgnode *n = make_noted();
    struct problems p = {0};

    (void)state;
    n->new_allowed = true;
    assert_true(cfgnode_clear(n, &p));
    assert_int_equal(n->n, 0);
    assert_true(n->new_allowed);
    assert_non_null(cfgnode_note_find(n, "R"));
    cfgnode_free(n);
}

/* 42, 43, 45: new_allowed is one node's, unless it is set for all below. */
static void test_new_allowed(void **state)
{
    struct cfgnode *n = make();
    struct problems p = {0};

    (void)state;
    assert_true(support_merge_yaml(n, "KW: {B: {c: 2}}", &p));
    assert_false(support_merge_yaml(n, "KW: {B: {d: 2}}", &p));
    assert_false(support_merge_yaml(n, "KW: {Y: {f: 4}, B: {d: 4}}", &p));
    assert_false(support_merge_yaml(n, "KW: {B: {c: x}}", &p));
    problems_release(&p);
    cfgnode_set_new_allowed(n, true);
    assert_true(support_merge_yaml(n, "KW: {B: {d: 4}}\nSUB: {Y: {f: 4}}", &p));
    assert_int_equal(cfgnode_find(n, "KW.B.d")->value.i, 4);
    assert_int_equal(cfgnode_find(n, "SUB.Y.f")->value.i, 4);
    cfgnode_free(n);
}

/* 53, 56: a note is registered once, and counts where the merge starts. */
static void test_notes(void **state)
{
    struct cfgnode *n = make_noted();
    struct problems p = {0};

    (void)state;
    assert_false(cfgnode_deprecate(n, "D", NULL));
    assert_false(cfgnode_rename(n, "R", "I", NULL));
    assert_true(cfgnode_rename(n, "SUB.X", "D", NULL));
    assert_true(support_merge_list(cfgnode_entry(n, "SUB")->node, "X=7", &p));
    assert_int_equal(cfgnode_find(n, "SUB.X")->value.i, 7);
    cfgnode_free(n);
}

/* A renamed key that is forwarded sets the new one and warns. */
static void test_forward(void **state)
{
    struct cfgnode *n = make_noted();
    struct problems p = {0};
    struct strbuf says = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < n->nnote; i++)
        n->note[i].forward = true;
    assert_true(support_merge_yaml(n, "R: 8", &p));
    assert_int_equal(cfgnode_find(n, "SUB.X")->value.i, 8);
    assert_int_equal(cfgnode_find(n, "R")->value.i, 1);
    support_problems(&says, &p);
    assert_string_equal(says.buf,
                        "warning: f.yaml:1:1: Key R was renamed to SUB.X; please "
                        "update your config.\n");
    strbuf_release(&says);
    cfgnode_free(n);
}

/* 52 */
static void test_equal(void **state)
{
    struct cfgnode *a = support_tree("{a: 1, b: {c: 2}}");
    struct cfgnode *b = support_tree("{b: {c: 2}, a: 1}");
    struct cfgnode *c = support_tree("{b: {c: 2}, a: 1.0}");

    (void)state;
    a->new_allowed = true;
    assert_true(cfgnode_equal(a, b));
    assert_false(cfgnode_equal(a, c));
    cfgnode_free(a);
    cfgnode_free(b);
    cfgnode_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statements),  cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_assignment),  cmocka_unit_test(test_copies),
        cmocka_unit_test(test_frozen),      cmocka_unit_test(test_clear),
        cmocka_unit_test(test_new_allowed), cmocka_unit_test(test_notes),
        cmocka_unit_test(test_forward),     cmocka_unit_test(test_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
