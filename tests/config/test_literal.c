/*
 * The meaning of text without a declared type: Python's literals and YAML 1.1's plain
 * scalars. Expected values are from CPython 3.11 and PyYAML 6.
 */
#include <string.h>

#include "config/literal.h"
#include "config/scalar.h"
#include "tests/test.h"

struct row {
    const char *text, *want; /* type and repr; NULL: a str with the same text */
};

static const struct row literals[] = {
    {"5", "int 5"},
    {"+5", "int 5"},
    {"-5", "int -5"},
    {"0x10", "int 16"},
    {"0o17", "int 15"},
    {"0b1", "int 1"},
    {"1_000", "int 1000"},
    {"0x_1F", "int 31"},
    {"00", "int 0"},
    {"-0", "int 0"},
    {"9223372036854775807", "int 9223372036854775807"},
    {".5", "float 0.5"},
    {"5.", "float 5.0"},
    {"1e-3", "float 0.001"},
    {"1E5", "float 100000.0"},
    {"1.e5", "float 100000.0"},
    {"-.5", "float -0.5"},
    {"1_0.5", "float 10.5"},
    {"010.5", "float 10.5"},
    {"1e999", "float inf"},
    {"1e16", "float 1e+16"},
    {"0.0001", "float 0.0001"},
    {"0.00001", "float 1e-05"},
    {"True", "bool True"},
    {"False", "bool False"},
    {"None", "NoneType None"},
    {" None", "NoneType None"},
    {"None ", "NoneType None"},
    {"'x'", "str 'x'"},
    {"\"x\"", "str 'x'"},
    {"u'x'", "str 'x'"},
    {"r'\\n'", "str '\\\\n'"},
    {"'''x'''", "str 'x'"},
    {"'a' 'b'", "str 'ab'"},
    {"'a\\n\\x41\\u00e9\\q'", "str 'a\\nA\303\251\\\\q'"},
    {"(1,2)", "tuple (1, 2)"},
    {"1,2", "tuple (1, 2)"},
    {"5,", "tuple (5,)"},
    {"()", "tuple ()"},
    {"(5)", "int 5"},
    {"-(5)", "int -5"},
    {"-((5))", "int -5"},
    {"[+( (0.5) ), 1]", "list [0.5, 1]"},
    {"-((5)", NULL},
    {"-(5))", NULL},
    {"-(-5)", NULL},
    {"[1,2,]", "list [1, 2]"},
    {"[]", "list []"},
    {"[1,[2,3]]", "list [1, [2, 3]]"},
    {"[\"a\",\"b\"]", "list ['a', 'b']"},
    {"[1, # c\n 2]", "list [1, 2]"},
    {"{'a':1}", "object"},
    {"{}", "object"},
    {"{1,2}", "object"},
    {"set()", "object"},
    {"b'x'", "object"},
    {"1+2j", "object"},
    {"3j", "object"},
    {"...", "object"},
    {"9223372036854775808", "object"},
    {"5 # c", "int 5"},
    {" 5", "int 5"},
    {"5 ", "int 5"},
    {"\n5\n", "int 5"},
    {"true", NULL},
    {"null", NULL},
    {"yes", NULL},
    {"nan", NULL},
    {"inf", NULL},
    {"-inf", NULL},
    {"010", NULL},
    {"0777", NULL},
    {"1_", NULL},
    {"1__0", NULL},
    {"_1", NULL},
    {"1_e5", NULL},
    {"0x", NULL},
    {"--5", NULL},
    {"-True", NULL},
    {"+.", NULL},
    {"1+2", NULL},
    {"10**3", NULL},
    {"1/2", NULL},
    {"2024-01-01", NULL},
    {"[a,b]", NULL},
    {"[1 2]", NULL},
    {"[,]", NULL},
    {"(,)", NULL},
    {"foo/bar", NULL},
    {"a.b", NULL},
    {"~", NULL},
    {"", NULL},
    {"1L", NULL},
    {"0x1.8p3", NULL},
    {"'it's'", NULL},
    {"'open", NULL},
    {"'a\nb'", NULL},
    {"'''a\nb'''", "str 'a\\nb'"},
    {"f'x'", NULL},
    {"1,\n2", NULL},
    {"\r5\r", "int 5"},
    {"[1, # c\r2\r\n]", "list [1, 2]"},
    {"'a\rb'", NULL},
    {"1,\r2", NULL},
    {"'''a\r\nb\rc'''", "str 'a\\nb\\nc'"},
    {"Nonesuch", NULL},
};

static const struct row scalars[] = {
    {"", "NoneType None"},
    {"~", "NoneType None"},
    {"null", "NoneType None"},
    {"Null", "NoneType None"},
    {"NULL", "NoneType None"},
    {"None", NULL},
    {"nULL", NULL},
    {"yes", "bool True"},
    {"Yes", "bool True"},
    {"YES", "bool True"},
    {"no", "bool False"},
    {"No", "bool False"},
    {"NO", "bool False"},
    {"true", "bool True"},
    {"True", "bool True"},
    {"TRUE", "bool True"},
    {"false", "bool False"},
    {"False", "bool False"},
    {"FALSE", "bool False"},
    {"on", "bool True"},
    {"On", "bool True"},
    {"ON", "bool True"},
    {"off", "bool False"},
    {"Off", "bool False"},
    {"OFF", "bool False"},
    {"y", NULL},
    {"n", NULL},
    {"tRUE", NULL},
    {"0b101", "int 5"},
    {"010", "int 8"},
    {"-010", "int -8"},
    {"08", NULL},
    {"0", "int 0"},
    {"1_000", "int 1000"},
    {"+12", "int 12"},
    {"0x1F", "int 31"},
    {"-0x1f", "int -31"},
    {"0o10", NULL},
    {"1:30", "int 90"},
    {"-1:30", "int -90"},
    {"190:20:30", "int 685230"},
    {"1:60", NULL},
    {"0x_", NULL},
    {"99999999999999999999", "object"},
    {"1.5", "float 1.5"},
    {"5.", "float 5.0"},
    {".5", "float 0.5"},
    {"-.5", NULL},
    {"-0.5", "float -0.5"},
    {"1.0e+3", "float 1000.0"},
    {"1.0e-3", "float 0.001"},
    {"1_0.5", "float 10.5"},
    {"1:30.5", "float 90.5"},
    {".inf", "float inf"},
    {"+.inf", "float inf"},
    {"-.INF", "float -inf"},
    {".nan", "float nan"},
    {"1.0e+400", "float inf"},
    {"1e3", NULL},
    {"1e-3", NULL},
    {"1.0e3", NULL},
    {"1e400", NULL},
    {"inf", NULL},
    {"nan", NULL},
    {"2001-01-01", "object"},
    {"2001-12-14t21:59:43.10-05:00", "object"},
    {"2001-12-14 21:59:43", "object"},
    {"2001-1-1", NULL},
    {"=", "object"},
    {"<<", NULL},
    {"a b", NULL},
};

static void compare(const struct row *row, const struct value *v)
{
    struct strbuf got = STRBUF_INIT, want = STRBUF_INIT;
    struct value text = {.type = VALUE_STR, .s = row->text};

    if (v->type == VALUE_OTHER) {
        strbuf_addstr(&got, "object");
    } else {
        strbuf_addf(&got, "%s ", value_type_name(v->type));
        value_add_repr(&got, v);
    }
    if (row->want) {
        strbuf_addstr(&want, row->want);
    } else {
        strbuf_addstr(&want, "str ");
        value_add_repr(&want, &text);
    }
    if (strcmp(got.buf, want.buf) != 0)
        fail_msg("'%s' is %s, want %s", row->text, got.buf, want.buf);
    assert_string_equal(v->text, row->text);
    strbuf_release(&got);
    strbuf_release(&want);
}

static void test_python(void **state)
{
    struct arena mem = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(literals) / sizeof(*literals); i++) {
        struct value v = literal_parse(&mem, literals[i].text);

        compare(&literals[i], &v);
    }
    arena_release(&mem);
}

static void test_yaml(void **state)
{
    struct arena mem = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
        struct value v = scalar_resolve(&mem, scalars[i].text);

        compare(&scalars[i], &v);
    }
    arena_release(&mem);
}

/* [[[[...]]]] must not overflow the stack, no matter how deep it is. */
static void test_deep(void **state)
{
    struct arena mem = {0};
    char text[4001];

    (void)state;
    memset(text, '[', 2000);
    memset(text + 2000, ']', 2000);
    text[4000] = '\0';
    assert_int_equal(literal_parse(&mem, text).type, VALUE_STR);
    text[50] = '\0';
    assert_int_equal(literal_parse(&mem, text + 1).type, VALUE_STR);
    arena_release(&mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_deep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
