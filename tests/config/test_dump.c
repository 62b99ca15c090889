/* Trees as text: str, repr, dump, and that a dump reads back as what it was. */
#include <string.h>

#include "config/dump.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* 57: keys sorted, texts bare, sections indented by 2, an empty one a line of blanks */
static void test_str(void **state)
{
    struct cfgnode *n = support_tree("b: {z: null, c: {}, a: 'x\n\n  y'}\na: true\n"
                                     "t: (2, 4)\nf: 1e-8\nl: [a, 'b c']\n");
    struct strbuf s = STRBUF_INIT;

    (void)state;
    cfgnode_str(&s, n);
    assert_string_equal(s.buf, "a: True\nb:\n  a: x\n    y\n  c:\n    \n  z: None\n"
                               "f: 1e-08\nl: ['a', 'b c']\nt: (2, 4)");
    cfgnode_free(n);
    n = cfgnode_new();
    strbuf_reset(&s);
    cfgnode_str(&s, n);
    assert_string_equal(s.buf, "");
    cfgnode_free(n);
    strbuf_release(&s);
}

/* 58 */
static void test_repr(void **state)
{
    struct cfgnode *n = support_tree("a: 1\nb: {c: '(1, 2)'}\nd: it's\n");
    struct strbuf s = STRBUF_INIT;

    (void)state;
    cfgnode_repr(&s, n);
    assert_string_equal(
        s.buf, "CfgNode({'a': 1, 'b': CfgNode({'c': '(1, 2)'}), 'd': \"it's\"})");
    cfgnode_free(n);
    strbuf_release(&s);
}

/* What yaml.safe_dump writes, but for the texts that it would not get back. */
static const struct {
    const char *yaml, *dump;
} dumps[] = {
    {"{}", "{}\n"},
    {"{b: 1, a: {y: 2, x: 1}}", "a:\n  x: 1\n  y: 2\nb: 1\n"},
    {"D: [2, 2]", "D:\n- 2\n- 2\n"},
    {"D: [[1, 2], [3], []]", "D:\n- - 1\n  - 2\n- - 3\n- []\n"},
    {"a: []\nb: {}\n", "a: []\nb: {}\n"},
    {"a: (1, 2)", "a:\n- 1\n- 2\n"},
    {"a: [yes, no, null]", "a:\n- true\n- false\n- null\n"},
    {"a: 1e-8", "a: 1.0e-08\n"},
    {"a: 1e16", "a: 1.0e+16\n"},
    {"a: 1.5e-7", "a: 1.5e-07\n"},
    {"a: 0.0005", "a: 0.0005\n"},
    {"a: 1e5", "a: 100000.0\n"},
    {"a: -.inf", "a: -.inf\n"},
    {"a: .nan", "a: .nan\n"},
    {"a: plain text", "a: plain text\n"},
    {"a: 'yes'", "a: 'yes'\n"},
    {"a: '03'", "a: '03'\n"},
    {"a: '08'", "a: 08\n"},
    {"a: 'null'", "a: 'null'\n"},
    {"a: '1:30'", "a: '1:30'\n"},
    {"a: ''", "a: ''\n"},
    {"a: 'a: b'", "a: 'a: b'\n"},
    {"a: '#x'", "a: '#x'\n"},
    {"a: '[a]'", "a: '[a]'\n"},
    {"a: ' x '", "a: ' x '\n"},
    {"a: it's", "a: it's\n"},
    {"a: \"\\xe9\"", "a: \"\\xE9\"\n"},
    {"a: \"x\\ty\"", "a: \"x\\ty\"\n"},
    {"a: \"x\\ny\"", "a: 'x\n\n  y'\n"},
    {"a: '2001-01-01'", "a: '2001-01-01'\n"},
    /* quoted beyond PyYAML, or they would come back as numbers, None and tuples */
    {"a: '5'", "a: '5'\n"},
    {"a: '1e-3'", "a: '1e-3'\n"},
    {"a: 'None'", "a: 'None'\n"},
    {"a: '(1, 2)'", "a: '(1, 2)'\n"},
    {"a: \"'x'\"", "a: '\"''x''\"'\n"},
    {"a: aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbb ccccccccccccccccccc dddddddddddddddddd "
     "eee",
     "a: aaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbb ccccccccccccccccccc dddddddddddddddddd\n"
     "  eee\n"},
};

static void test_dump(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(dumps) / sizeof(*dumps); i++) {
        struct cfgnode *n = support_tree(dumps[i].yaml);
        struct strbuf s = STRBUF_INIT;

        cfgnode_dump(&s, n);
        if (strcmp(s.buf, dumps[i].dump) != 0)
            fail_msg("'%s' is dumped as\n%swant\n%s", dumps[i].yaml, s.buf,
                     dumps[i].dump);
        cfgnode_free(n);
        strbuf_release(&s);
    }
}

/* U+0080, 85, 9F, 2028, 2029, FEFF, FFFE, FFFF, and between them such as may stand. */
#define SPECIAL                                                                          \
    "\302\200\302\205\302\237\302\240\342\200\250\342\200\251\342\200\252\357\273\277"   \
    "\357\277\276\357\277\277\357\277\275\360\237\277\276\177\r\t\""

#define NBSP       "\302\240"
#define NEL        "\302\205"
#define LINE       "a\342\200\250"
#define QUOTED_BOM "'\357\273\277'"

static const char *const texts[] = {
    "5",        "10",   "1e-3", "(1, 2)",     "True",     "0x1F",  "None",
    "true",     "yes",  "03",   "null",       "1:30",     "a: b",  "a\nb",
    "\303\251", " x ",  "[a]",  "#x",         "",         "'x'",   "'5'",
    "\"x\"",    "'",    "''",   "'a' 'b'",    "\"a\\b\"", "it's",  "a\tb",
    "~",        "-",    "- a",  "a #b",       "a:",       ":a",    "{a}",
    "&a",       "*a",   "!a",   "%a",         "@a",       "`a",    "|",
    ">",        "?",    "a, b", "\\n",        "'a\nb'",   "\"'\"", "<<",
    "=",        ".inf", "\001", "2001-01-01", "a\n\nb\n", "\n",    "'it's'",
    "-1e-3",    "- ",   "...",  "---",        "a'",       "0o10",  SPECIAL,
    "'a\rb'",   NBSP,   NEL,    LINE,         QUOTED_BOM,
};

/* A tree with the text t under str keys, in a section and in a list. */
static struct cfgnode *tree_of(const char *t)
{
    struct cfgnode *n = cfgnode_new();
    struct problems p = {0};
    struct value v = value_str(n->mem, t), list = value_list(n->mem, VALUE_LIST, 2);

    list.list.item[0] = list.list.item[1] = v;
    assert_true(cfgnode_set(n, "S", &v, NULL, &p));
    assert_true(cfgnode_set(cfgnode_add(n, "SUB"), "S", &v, NULL, &p));
    assert_true(cfgnode_set(n, "L", &list, NULL, &p));
    cfgnode_find(n, "L")->decl.item = VALUE_STR;
    return n;
}

static void check_back(struct cfgnode *n, const char *yaml, const char *text)
{
    struct cfgnode *back = tree_of("other");
    struct strbuf says = STRBUF_INIT, again = STRBUF_INIT;
    struct problems p = {0};

    assert_int_equal(p.nerror, 0);
    if (!support_merge_yaml(back, yaml, &p) || !cfgnode_equal(back, n)) {
        support_problems(&says, &p);
        cfgnode_str(&again, back);
        fail_msg("'%s' comes back as\n%s\nfrom\n%s%s", text, again.buf, yaml, says.buf);
    }
    strbuf_release(&says);
    strbuf_release(&again);
    cfgnode_free(back);
}

/* dump, load, dump: nothing changes, whatever the text looks like. */
static void test_fixed_point(void **state)
{
    int count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++, count++) {
        struct cfgnode *n = tree_of(texts[i]);
        struct strbuf first = STRBUF_INIT, line = STRBUF_INIT;

        cfgnode_dump(&first, n);
        check_back(n, first.buf, texts[i]);

        /* the same on one line */
        strbuf_addstr(&line, "S: ");
        value_add_yaml(&line, &cfgnode_find(n, "S")->value);
        strbuf_addstr(&line, "\nSUB:\n  S: ");
        value_add_yaml(&line, &cfgnode_find(n, "SUB.S")->value);
        strbuf_addstr(&line, "\nL: ");
        value_add_yaml(&line, &cfgnode_find(n, "L")->value);
        strbuf_addstr(&line, "\n");
        check_back(n, line.buf, texts[i]);
        strbuf_release(&first);
        strbuf_release(&line);
        cfgnode_free(n);
    }
    assert_int_equal(count, 68);
}

/* No reader takes a line's end or an unprintable character for part of a text. */
static void test_special(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct value v = {.type = VALUE_STR, .s = SPECIAL};

    (void)state;
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf,
                        "\"\\x80\\x85\\x9F\302\240\\u2028\\u2029\342\200\252\\uFEFF"
                        "\\uFFFE\\uFFFF\357\277\275\360\237\277\276\\x7F\\x0D\\t\\\"\"");
    strbuf_reset(&s);
    v.s = "\302\240\342\200\252";
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf, "'\302\240\342\200\252'");
    strbuf_reset(&s);
    v.s = "layer?.*"; /* in a list PyYAML takes ? for a key's mark */
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf, "'layer?.*'");
    strbuf_reset(&s);
    yaml_add_comment(&s, "a\n'\\b\302\205\342\200\250\377\303\251.yaml");
    assert_string_equal(s.buf, "a\\n'\\b\\x85\\u2028\\xFF\303\251.yaml");
    strbuf_release(&s);
}

/* A tree without types gets the same values too, but for str texts in quotes. */
static void test_numbers(void **state)
{
    static const double f[] = {
        0.1,  1e-8,   5e-324, 1.7976931348623157e308, 1.0 / 3, -0.0,
        1e22, 123456, 1e16,   9007199254740993.0,     0.0001,  1e-5};

    (void)state;
    for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++) {
        struct cfgnode *n = cfgnode_new(), *back = cfgnode_new();
        struct problems p = {0};
        struct value v = value_float(f[i]);
        struct strbuf s = STRBUF_INIT;

        assert_true(cfgnode_set(n, "F", &v, NULL, &p));
        cfgnode_dump(&s, n);
        back->new_allowed = true;
        assert_true(support_merge_yaml(back, s.buf, &p));
        if (!cfgnode_equal(n, back))
            fail_msg("%.17g is dumped as %s", f[i], s.buf);
        strbuf_release(&s);
        cfgnode_free(n);
        cfgnode_free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_str),     cmocka_unit_test(test_repr),
        cmocka_unit_test(test_dump),    cmocka_unit_test(test_fixed_point),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_special),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
