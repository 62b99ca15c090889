/* YAML files (statements 34 to 41 of yacs's behavior, and more) and BASE chains. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/yaml.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

static const struct {
    const char *yaml, *want; /* NULL if reading fails, even in part */
    const char *says;
} rows[] = {
    /* 35 */
    {"", "{}", ""},
    {"# nothing\n", "{}", ""},
    {"---\n...\n", "{}", ""},
    {"[1, 2]", NULL,
     "error: f:1:1: a configuration must be a mapping of keys, not a list\n"},
    {"5", NULL,
     "error: f:1:1: a configuration must be a mapping of keys, not a single value\n"},
    /* 36 */
    {"a: !!python/tuple [1]", NULL,
     "error: f:1:4: a value cannot have the tag !!python/tuple\n"},
    {"a: !mine 5", NULL, "error: f:1:4: a value cannot have the tag !mine\n"},
    {"a: =", NULL, "error: f:1:4: a lone = has a special meaning in YAML: quote it\n"},
    {"a: 9223372036854775808", NULL,
     "error: f:1:4: 9223372036854775808 is a number beyond 64 bits: quote it if you mean "
     "a string\n"},
    {"a: 9223372036854775807\nb: -9223372036854775808",
     "{a: 9223372036854775807, b: -9223372036854775808}", ""},
    {"a: 1\n---\nb: 2\n", NULL,
     "error: f:2:1: a second document starts here: a configuration has only one\n"},
    {"a:\n\tb: 1\n", NULL,
     "error: f:2:1: invalid YAML: tab in the indentation: use spaces\n"},
    {"a: @x\n", NULL,
     "error: f:1:4: invalid YAML: found character that cannot start any token while "
     "scanning "
     "for the next token\n"},
    /* a missing end is reported at the start */
    {"a: \"b\nc: 1\nd: 2\n", NULL,
     "error: f:1:4: invalid YAML: found unexpected end of stream up to line 4, while "
     "scanning "
     "a quoted scalar\n"},
    {"a: 1\nb: {c: 1,\nd: 2\n", NULL,
     "error: f:2:4: invalid YAML: did not find expected ',' or '}' up to line 4, while "
     "parsing "
     "a flow mapping\n"},
    {"a 5\nb: 2\n", NULL,
     "error: f:2:2: invalid YAML: a colon inside a value, or a missing one on the line "
     "above\n"},
    {"a: 1\nb\nc: 1\n", NULL,
     "error: f:2:1: invalid YAML: could not find expected ':' up to line 3, while "
     "scanning a "
     "simple key\n"},
    {"a: *x", NULL, "error: f:1:4: unknown alias *x\n"},
    {"a: [1, 2", NULL,
     "error: f:1:4: invalid YAML: did not find expected ',' or ']' up to line 2, while "
     "parsing a flow sequence\n"},
    {"a: \"\\0\"", NULL, "error: f:1:4: a string cannot contain a NUL character\n"},
    {"a: \377", NULL, "error: f:1:4: not valid UTF-8: invalid leading UTF-8 octet\n"},
    {"a: 1\nb: x\001\n", NULL,
     "error: f:2:5: YAML does not allow the control character 0x01\n"},
    /* 37 */
    {"a: &x {p: 1, q: [1, 2]}\nb: *x\n", "{a: {p: 1, q: [1, 2]}, b: {p: 1, q: [1, 2]}}",
     ""},
    {"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\n", "{a: {p: 1, q: 2}, b: {q: 3, p: 1}}", ""},
    {"a: &x {p: 1}\nb: &y {p: 2, r: {s: 1}}\nc: {<<: [*x, *y]}\n",
     "{a: {p: 1}, b: {p: 2, r: {s: 1}}, c: {p: 1, r: {s: 1}}}", ""},
    {"a: &x {p: 1, q: 1}\nb: &y {p: 2}\nc: {<<: *x, <<: *y}\nd: {<<: *y, r: 1, <<: *x}\n",
     "{a: {p: 1, q: 1}, b: {p: 2}, c: {p: 2, q: 1}, d: {r: 1, p: 1, q: 1}}", ""},
    {"<<: {c: {d: 1}}\n<<: {c: {e: 1}}\na: 5\n", "{a: 5, c: {e: 1}}", ""},
    {"a: {\"<<\": 1}\nb: {!!str <<: 2}\nc: {!!merge x: {<<: {y: 3}}}\n",
     "{a: {<<: 1}, b: {<<: 2}, c: {y: 3}}", ""},
    /* and imported values are not decoded */
    {"<<:\n  a:\n    b: (1, 2)\n    c: {d: 1e-3, e: None}\n",
     "{a: {b: '(1, 2)', c: {d: '1e-3', e: 'None'}}}", ""},
    {"b: {<<: 5}", NULL, "error: f:1:9: << needs a mapping or a list of mappings\n"},
    {"a: &x [*x]", NULL, "error: f:1:8: alias *x is inside its own anchor\n"},
    /* 38: yacs silently uses the last one */
    {"a: 1\nb: 2\na: 3\n", NULL, "error: f:3:1: duplicate key a, first on line 1\n"},
    {"T:\n  a: 1\nT:\n  b: 1\n", NULL,
     "error: f:3:1: duplicate key T, first on line 1\n"},
    {"a: {p: 1}\nb: {p: 1}\n", "{a: {p: 1}, b: {p: 1}}", ""},
    /* 39: all of them, not only the first */
    {"a: 2001-01-01\nb: !!set {x}\nc: !!binary aGk=\nd: 2001-12-14t21:59:43.10-05:00\n",
     NULL,
     "error: f:1:4: 2001-01-01 is a date or a time: quote it if you mean a "
     "string\nerror: f:2:4: a value cannot have the tag !!set\nerror: f:3:4: a value "
     "cannot have the tag !!binary\nerror: f:4:4: 2001-12-14t21:59:43.10-05:00 is a date "
     "or a time: quote it if you mean a string\n"},
    {"a: '2001-01-01'", "{a: '2001-01-01'}", ""},
    /* 41: not decoded yet */
    {"a: 1e-3\nb: (1, 2)\nc: \"None\"\nd: None\n",
     "{a: '1e-3', b: '(1, 2)', c: 'None', d: 'None'}", ""},
    {"a: !!str 5\nb: !!float 5\nc: !!int \"5\"\nd: ! 5\ne: !!null x\n",
     "{a: '5', b: 5.0, c: 5, d: '5', e: None}", ""},
    {"a: !!int x", NULL, "error: f:1:4: !!int must be an int, not 'x'\n"},
    {"a: |\n  x\n  y\nb: >\n  x\n  y\n", "{a: 'x\\ny\\n', b: 'x y\\n'}", ""},
    {"{\"a\": [1, 2.5, true, null, \"x\"], \"b\": {\"c\": 1e5}}",
     "{a: [1, 2.5, True, None, 'x'], b: {c: '1e5'}}", ""},
    {"a: [{b: 1, c: [x]}, 2]", "{a: [{'b': 1, 'c': ['x']}, 2]}", ""},
    {"a: [{b: 1, b: 2}]", NULL, "error: f:1:12: duplicate key b, first on line 1\n"},
    {"a: [{[1]: 2}]", NULL, "error: f:1:6: a key must be a string\n"},
    {"a: [!!set {b}]", NULL, "error: f:1:5: a value cannot have the tag !!set\n"},
    {"? [1]\n: 2\n", NULL, "error: f:1:3: a key must be a string\n"},
    {"\357\273\277a: \303\251\n", "{a: '\303\251'}", ""},
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct problems p = {0};
        struct strbuf says = STRBUF_INIT, got = STRBUF_INIT;
        struct cfgnode *n = yaml_read_text(rows[i].yaml, strlen(rows[i].yaml), "f", &p);

        support_problems(&says, &p);
        if (strcmp(says.buf, rows[i].says) != 0)
            fail_msg("'%s' says\n%swant\n%s", rows[i].yaml, says.buf, rows[i].says);
        if (rows[i].want) {
            assert_non_null(n);
            support_show(&got, n);
            assert_string_equal(got.buf, rows[i].want);
        }
        cfgnode_free(n);
        strbuf_release(&says);
        strbuf_release(&got);
    }
}

/* Every leaf and section records its line and column. */
static void test_places(void **state)
{
    static const char yaml[] = "A: 1\nSUB:\n  X: 2\n  Y: {Z: 3}\n<<: {M: {N: 1}}\n";
    struct problems p = {0};
    struct cfgnode *n = yaml_read_text(yaml, strlen(yaml), "d/f.yaml", &p);

    (void)state;
    assert_string_equal(cfgnode_find(n, "A")->origin, "d/f.yaml:1:1");
    assert_string_equal(cfgnode_find(n, "SUB")->origin, "d/f.yaml:2:1");
    assert_string_equal(cfgnode_find(n, "SUB.X")->origin, "d/f.yaml:3:3");
    assert_string_equal(cfgnode_find(n, "SUB.Y.Z")->origin, "d/f.yaml:4:7");
    assert_string_equal(cfgnode_find(n, "M")->origin, "d/f.yaml:5:6");
    assert_string_equal(cfgnode_find(n, "M.N")->origin, "d/f.yaml:5:10");
    cfgnode_free(n);
}

/* A billion laughs: ten lines that would expand to 10^9 values. */
static void test_bomb(void **state)
{
    struct strbuf yaml = STRBUF_INIT, says = STRBUF_INIT;
    struct problems p = {0};

    (void)state;
    strbuf_addstr(&yaml, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        strbuf_addf(&yaml, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            strbuf_addf(&yaml, "%s*a%d", j ? ", " : "", i - 1);
        strbuf_addstr(&yaml, "]\n");
    }
    cfgnode_free(yaml_read_text(yaml.buf, yaml.len, "f", &p));
    support_problems(&says, &p);
    assert_string_equal(says.buf,
                        "error: f:1:5: more than 10000 values, including aliases\n");
    strbuf_release(&yaml);
    strbuf_release(&says);
}

/* As many names as ImageNet classes with all their synsets. */
static void test_names(void **state)
{
    struct strbuf yaml = STRBUF_INIT;
    struct problems p = {0};
    struct cfgnode *n;

    (void)state;
    strbuf_addstr(&yaml, "names: [a");
    for (int i = 1; i < 21841; i++)
        strbuf_addf(&yaml, ", n%08d", i);
    strbuf_addstr(&yaml, "]\n");
    n = yaml_read_text(yaml.buf, yaml.len, "f", &p);
    assert_int_equal(p.nerror, 0);
    assert_int_equal(cfgnode_entry(n, "names")->value.list.n, 21841);
    cfgnode_free(n);
    problems_release(&p);
    strbuf_release(&yaml);
}

/* `n` lists, each nested in the next by an alias, then `end`. An unused key holds
 * them. */
static void add_nest(struct strbuf *s, int n, const char *leaf, const char *end)
{
    strbuf_addf(s, "? [&a0 %s", leaf);
    for (int i = 1; i < n; i++)
        strbuf_addf(s, ", &a%d [*a%d%s]", i, i - 1, *leaf == '{' ? ", *a0" : "");
    strbuf_addf(s, "]\n: 0\n%s*a%d\n", end, n - 1);
}

/* Small and flat text that becomes deep or large with its aliases. */
static void test_alias_bombs(void **state)
{
    struct strbuf yaml = STRBUF_INIT, says = STRBUF_INIT;
    struct problems p = {0};

    (void)state;
    add_nest(&yaml, 50000, "[]", "b: ");
    cfgnode_free(yaml_read_text(yaml.buf, yaml.len, "f", &p));
    support_problems(&says, &p);
    assert_non_null(strstr(says.buf, "nested more than 100 levels deep"));
    strbuf_reset(&yaml);
    strbuf_reset(&says);
    add_nest(&yaml, 50000, "{}", "b:\n  <<: ");
    cfgnode_free(yaml_read_text(yaml.buf, yaml.len, "f", &p));
    support_problems(&says, &p);
    assert_non_null(strstr(says.buf, "nested more than 100 levels deep"));
    strbuf_reset(&yaml);
    strbuf_reset(&says);
    strbuf_addstr(&yaml, "a0: &a0 {}\n"); /* nested merges without any value */
    for (int i = 1; i < 12; i++) {
        strbuf_addf(&yaml, "a%d: &a%d {<<: [", i, i);
        for (int j = 0; j < 10; j++)
            strbuf_addf(&yaml, "%s*a%d", j ? ", " : "", i - 1);
        strbuf_addstr(&yaml, "]}\n");
    }
    cfgnode_free(yaml_read_text(yaml.buf, yaml.len, "f", &p));
    support_problems(&says, &p);
    assert_non_null(strstr(says.buf, "more than 10000 values"));
    strbuf_release(&yaml);
    strbuf_release(&says);
}

/* A file of a different kind is reported early, with few messages. */
static void test_flood(void **state)
{
    struct strbuf yaml = STRBUF_INIT;
    struct problems p = {0};
    struct cfgnode *n;

    (void)state;
    for (int i = 0; i < 200000; i++)
        strbuf_addf(&yaml, "k%d: {}\n", i);
    n = yaml_read_text(yaml.buf, yaml.len, "f", &p);
    assert_non_null(strstr(p.item[0].text, "more than 10000 values"));
    cfgnode_free(n);
    problems_release(&p);
    strbuf_reset(&yaml);
    for (int i = 0; i < 300; i++)
        strbuf_addf(&yaml, "k%d: [!!set {}]\n", i);
    cfgnode_free(yaml_read_text(yaml.buf, yaml.len, "f", &p));
    assert_int_equal(p.n, PROBLEMS_MAX);
    assert_int_equal(p.nerror, 300);
    assert_int_equal(p.nmore, 300 - PROBLEMS_MAX);
    problems_release(&p);
    for (int i = 0; i < 900000; i++)
        strbuf_addstr(&yaml, "# no\n");
    assert_null(yaml_read_file(support_file("long.yaml", yaml.buf), "--cfg", &p));
    assert_non_null(strstr(p.item[0].text, "a configuration file has at most 4194304"));
    problems_release(&p);
    support_cleanup();
    strbuf_release(&yaml);
}

static void test_deep(void **state)
{
    struct problems p = {0};
    char yaml[5001];

    (void)state;
    memset(yaml, '[', 5000);
    yaml[5000] = '\0';
    cfgnode_free(yaml_read_text(yaml, 5000, "f", &p));
    assert_int_equal(p.nerror, 1);
    problems_release(&p);
}

static void expect(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("'%s' does not say '%s'", text, what);
}

/* 34, 40: the file name tells the kind of file; unreadable files. */
static void test_files(void **state)
{
    static const struct {
        const char *name, *says;
    } bad[] = {
        {"x.py", "Python configurations cannot be run; write YAML"},
        {"x.YAML", "unknown kind of file '.YAML' (use .yaml, .yml or .json)"},
        {"x.txt", "unknown kind of file '.txt'"},
    };
    static const char *const good[] = {"x.yaml", "x.yml", "x.json", "x"};
    struct problems p = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct cfgnode *n = yaml_read_file(support_file(good[i], "{\"a\": 1}"), NULL, &p);

        assert_non_null(n);
        assert_int_equal(cfgnode_find(n, "a")->value.i, 1);
        cfgnode_free(n);
    }
    for (size_t i = 0; i < 3; i++) {
        struct strbuf says = STRBUF_INIT;

        assert_null(yaml_read_file(support_file(bad[i].name, "a: 1"), "--cfg", &p));
        support_problems(&says, &p);
        expect(says.buf, bad[i].says);
        strbuf_release(&says);
    }
    assert_null(yaml_read_file("/nowhere/x.yaml", "--cfg", &p));
    assert_string_equal(
        p.item[0].text,
        "--cfg: cannot read '/nowhere/x.yaml': No such file or directory");
    assert_null(yaml_read_file("/tmp", "--cfg", &p));
    assert_string_equal(p.item[1].text, "--cfg: cannot read '/tmp': it is a directory");
    problems_release(&p);
    support_cleanup();
}

/* --- BASE --------------------------------------------------------------------------- */

static struct cfgnode *load_chain(const char *path, struct strbuf *says)
{
    struct cfgnode *n = support_tree("BASE: ['']\nA: 0\nB: 0\nC: 0\nD: 0\n");
    struct problems p = {0};

    cfgnode_merge_file(n, path, "--cfg", &p);
    support_problems(says, &p);
    return n;
}

/* The four values, and the messages without the folder's name. */
static void check_chain(const char *path, const char *want, const char *says)
{
    struct strbuf got = STRBUF_INIT, text = STRBUF_INIT;
    struct cfgnode *n = load_chain(path, &text);

    for (const char *k = "ABCD"; *k; k++) {
        char key[2] = {*k, '\0'};

        value_add_repr(&got, &cfgnode_find(n, key)->value);
    }
    if (want)
        assert_string_equal(got.buf, want);
    if (says ? !strstr(text.buf, says) : text.len > 0)
        fail_msg("%s says %s", path, text.buf);
    cfgnode_free(n);
    strbuf_release(&got);
    strbuf_release(&text);
}

static void test_base(void **state)
{
    const char *a = support_file("a.yaml", "A: 1\nB: 1\nC: 1\n");
    char absolute[200];

    (void)state;
    support_file("b.yaml", "B: 2\nC: 2\n");
    check_chain(a, "1110", NULL);
    /* several, in order, the file itself last; '' is ignored */
    check_chain(support_file("c.yaml", "BASE: ['', a.yaml, b.yaml]\nC: 3\n"), "1230",
                NULL);
    check_chain(support_file("d.yaml", "BASE: [b.yaml, a.yaml]\n"), "1110", NULL);
    /* one name; null; _BASE_ is the same key */
    check_chain(support_file("e.yaml", "BASE: a.yaml\nD: 4\n"), "1114", NULL);
    check_chain(support_file("f.yaml", "BASE:\nD: 4\n"), "0004", NULL);
    check_chain(support_file("g.yaml", "_BASE_: c.yaml\nD: 4\n"), "1234", NULL);
    /* relative to the file that names it, and absolute */
    check_chain(support_file("sub/h.yaml", "BASE: ['../c.yaml']\nD: 4\n"), "1234", NULL);
    (void)snprintf(absolute, sizeof(absolute), "BASE: ['%s']\n", a);
    check_chain(support_file("sub/i.yaml", absolute), "1110", NULL);
    /* a repeated file is not a cycle; a file without keys is valid, an empty one suspicious */
    check_chain(support_file("j.yaml", "BASE: [e.yaml, d.yaml]\n"), "1114", NULL);
    check_chain(support_file("k.yaml", "# the defaults\n"), "0000", NULL);
    check_chain(support_file("l.yaml", ""), "0000", "warning: --cfg: ");
    check_chain(support_file("l.yaml", ""), "0000", "l.yaml: the file is empty");
    support_cleanup();
}

/* Names in an open file are relative to the current folder. */
static void test_base_piped(void **state)
{
    static const char yaml[] = "BASE: [b.yaml, ./sub/c.yaml]\nD: 4\n";
    int here = open(".", O_RDONLY | O_DIRECTORY), fd[2];
    char *dir = path_dirname(support_file("b.yaml", "B: 2\n")), path[60];

    (void)state;
    support_file("sub/c.yaml", "BASE: ../b.yaml\nC: 3\n");
    for (int k = 0; k < 2; k++) {
        assert_int_equal(pipe(fd), 0);
        assert_int_equal(write(fd[1], yaml, strlen(yaml)), strlen(yaml));
        assert_int_equal(close(fd[1]), 0);
        assert_int_equal(chdir(dir), 0);
        (void)snprintf(path, sizeof(path), k ? "/dev/fd/%d" : "/proc/self/fd/%d", fd[0]);
        check_chain(path, "0234", NULL);
        assert_int_equal(fchdir(here), 0);
        assert_int_equal(close(fd[0]), 0);
    }
    assert_int_equal(close(here), 0);
    free(dir);
    support_cleanup();
}

/* Each file names the next one twice: 2^30 reads. */
static void test_base_bomb(void **state)
{
    char name[20], text[60];

    (void)state;
    for (int i = 30; i > 18; i--) {
        (void)snprintf(name, sizeof(name), "%d.yaml", i);
        (void)snprintf(text, sizeof(text), i < 30 ? "BASE: [%d.yaml, %d.yaml]\n" : "A: 1",
                       i + 1, i + 1);
        check_chain(support_file(name, text), i > 21 ? "1000" : NULL,
                    i > 21 ? NULL : "BASE leads to more than 1000 files");
    }
    support_cleanup();
}

static void test_base_mistakes(void **state)
{
    const char *self = support_file("self.yaml", "BASE: self.yaml\nA: 1\n");

    (void)state;
    check_chain(self, "1000", "self.yaml:1:1: BASE is a cycle: ");
    check_chain(support_file("p.yaml", "A: 1\nBASE: q.yaml\n"), "1000",
                "p.yaml:2:1: cannot read ");
    support_file("q.yaml", "BASE: [./p.yaml]\nB: 1\n");
    check_chain(support_file("p.yaml", "A: 1\nBASE: q.yaml\n"), "1100",
                "q.yaml:1:1: BASE is a cycle: ");
    check_chain(support_file("r.yaml", "BASE: {a: 1}\n"), "0000",
                "BASE must be a list, not a section");
    check_chain(support_file("s.yaml", "BASE: [[a.yaml]]\n"), "0000",
                "BASE must be a file name or a list of file names");
    check_chain(support_file("t.yaml", "BASE: []\n_BASE_: []\n"), "0000",
                "_BASE_ and BASE are the same key");
    /* an error in a base names the base and does not hide the next */
    support_file("u.yaml", "X: 1\nA: x\nB: 1\n");
    check_chain(support_file("v.yaml", "BASE: u.yaml\nC: x\n"), "0100",
                "u.yaml:1:1: unknown key X");
    check_chain(support_file("v.yaml", "BASE: u.yaml\nC: x\n"), "0100",
                "v.yaml:2:1: C must be an int, not 'x'");
    support_cleanup();
}

/* BASE keeps the value of the outermost file. */
static void test_base_value(void **state)
{
    struct strbuf says = STRBUF_INIT, got = STRBUF_INIT;
    struct cfgnode *n;

    (void)state;
    support_file("a.yaml", "BASE: b.yaml\n");
    support_file("b.yaml", "A: 1\n");
    n = load_chain(support_file("c.yaml", "BASE: [a.yaml]\n"), &says);
    value_add_repr(&got, &cfgnode_find(n, "BASE")->value);
    assert_string_equal(got.buf, "['a.yaml']");
    assert_int_equal(says.len, 0);
    cfgnode_free(n);
    strbuf_release(&got);
    support_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_places),
        cmocka_unit_test(test_bomb),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_alias_bombs), cmocka_unit_test(test_flood),
        cmocka_unit_test(test_deep),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_base),        cmocka_unit_test(test_base_value),
        cmocka_unit_test(test_base_bomb),   cmocka_unit_test(test_base_mistakes),
        cmocka_unit_test(test_base_piped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
