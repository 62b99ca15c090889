/* Values as YAML: their form, and that they read back unchanged. */
#include <string.h>

#include "config/dump.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* Output of yaml.safe_dump on one line, except for strings that would not survive the
 * round trip. */
static const struct {
    const char *yaml, *line;
} lines[] = {
    {"[2, 2]", "[2, 2]"},
    {"[[1, 2], [3], []]", "[[1, 2], [3], []]"},
    {"(1, 2)", "[1, 2]"},
    {"[yes, no, null]", "[true, false, null]"},
    {"1e-8", "1.0e-08"},
    {"1e16", "1.0e+16"},
    {"1.5e-7", "1.5e-07"},
    {"0.0005", "0.0005"},
    {"1e5", "100000.0"},
    {"-.inf", "-.inf"},
    {".nan", ".nan"},
    {"plain", "plain"},
    {"'yes'", "'yes'"},
    {"'03'", "'03'"},
    {"'08'", "08"},
    {"'null'", "'null'"},
    {"'1:30'", "'1:30'"},
    {"''", "''"},
    {"'a: b'", "'a: b'"},
    {"'#x'", "'#x'"},
    {"'[a]'", "'[a]'"},
    {"' x '", "' x '"},
    {"it's", "'it''s'"},
    {"\"x\\ty\"", "\"x\\ty\""},
    {"\"x\\ny\"", "\"x\\ny\""},
    {"'2001-01-01'", "'2001-01-01'"},
    /* quoted, unlike in PyYAML, because they would read back as numbers, None, and
     * tuples */
    {"'5'", "'5'"},
    {"'1e-3'", "'1e-3'"},
    {"'None'", "'None'"},
    {"'(1, 2)'", "'(1, 2)'"},
    {"\"'x'\"", "'\"''x''\"'"},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        struct strbuf yaml = STRBUF_INIT, s = STRBUF_INIT;
        struct cfgnode *n;

        strbuf_addf(&yaml, "a: %s", lines[i].yaml);
        n = support_tree(yaml.buf);
        value_add_yaml(&s, &cfgnode_find(n, "a")->value);
        assert_string_equal(s.buf, lines[i].line);
        cfgnode_free(n);
        strbuf_release(&yaml);
        strbuf_release(&s);
    }
}

/* U+0080, 85, 9F, 2028, 2029, FEFF, FFFE, FFFF, and printable characters among them. */
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

/* Checks that `was`, written and read into a key of its type, is unchanged. */
static void check_back(const struct value *was, struct decl decl, const char *what)
{
    struct cfgnode *n = support_tree("K: 1");
    struct strbuf yaml = STRBUF_INIT, says = STRBUF_INIT, got = STRBUF_INIT;
    struct problems p = {0};

    cfgnode_find(n, "K")->decl = decl;
    strbuf_addstr(&yaml, "K: ");
    value_add_yaml(&yaml, was);
    strbuf_addstr(&yaml, "\n");
    support_merge_yaml(n, yaml.buf, &p);
    if (p.nerror || !value_equal(was, &cfgnode_find(n, "K")->value)) {
        support_problems(&says, &p);
        support_show(&got, n);
        fail_msg("'%s' comes back as\n%s\nfrom\n%s%s", what, got.buf, yaml.buf, says.buf);
    }
    strbuf_release(&yaml);
    strbuf_release(&says);
    strbuf_release(&got);
    cfgnode_free(n);
}

/* Any string, by itself and in a list. */
static void test_fixed_point(void **state)
{
    struct arena mem = {0};
    struct value list = value_list(&mem, VALUE_LIST, 2);
    int count = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++, count++) {
        struct value v = value_str(&mem, texts[i]);

        list.list.item[0] = list.list.item[1] = v;
        check_back(&v, (struct decl){.type = VALUE_STR}, texts[i]);
        check_back(&list, (struct decl){.type = VALUE_LIST, .item = VALUE_STR}, texts[i]);
    }
    assert_int_equal(count, 68);
    arena_release(&mem);
}

/* Line separators and unprintable characters are escaped, so that no reader alters
 * them. */
static void test_special(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct value v = {.type = VALUE_STR, .s = SPECIAL};

    (void)state;
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf,
                        "\"\\x80\\x85\\x9F\302\240\\u2028\\u2029\\u202A\\uFEFF"
                        "\\uFFFE\\uFFFF\357\277\275\360\237\277\276\\x7F\\x0D\\t\\\"\"");
    strbuf_reset(&s);
    v.s = "\302\240\342\200\213";
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf, "'\302\240\342\200\213'");
    strbuf_reset(&s);
    v.s = "cat\342\200\256gpj\330\234\342\201\246"; /* bidi controls */
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf, "\"cat\\u202Egpj\\u061C\\u2066\"");
    strbuf_reset(&s);
    v.s = "layer?.*"; /* PyYAML reads ? in a list as the mark of a key */
    value_add_yaml(&s, &v);
    assert_string_equal(s.buf, "'layer?.*'");
    strbuf_reset(&s);
    yaml_add_comment(&s, "a\n'\\b\302\205\342\200\250\377\303\251.yaml");
    assert_string_equal(s.buf, "a\\n'\\b\\x85\\u2028\\xFF\303\251.yaml");
    strbuf_release(&s);
}

static void test_numbers(void **state)
{
    static const double f[] = {
        0.1,  1e-8,   5e-324, 1.7976931348623157e308, 1.0 / 3, -0.0,
        1e22, 123456, 1e16,   9007199254740993.0,     0.0001,  1e-5};

    (void)state;
    for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++) {
        struct value v = value_float(f[i]);

        check_back(&v, (struct decl){.type = VALUE_FLOAT}, "a number");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_fixed_point),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_special),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
