/* What subcommands print: names cannot add lines or control the terminal; formats can. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/say.h"
#include "tests/test.h"

__attribute__((format(printf, 1, 2))) static char *said(const char *fmt, ...)
{
    struct strbuf s = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_say_v(&s, fmt, ap);
    va_end(ap);
    return strbuf_detach(&s);
}

#define SAYS(want, ...)                                                                  \
    do {                                                                                 \
        char *got = said(__VA_ARGS__);                                                   \
        assert_string_equal(got, want);                                                  \
        free(got);                                                                       \
    } while (0)

static void names_are_made_safe(void **state)
{
    (void)state;
    SAYS("cat: 1\n", "%s: %d\n", "cat", 1);
    SAYS("a?b? ?[31m\n", "%s\n", "a\nb\t \033[31m");
    SAYS("x?y?z?\n", "%s\n", "x\xe2\x80\xaey\x07z\x7f"); /* U+202E, BEL, DEL */
    SAYS("?\n", "%s\n", "\xc2\x9b");                     /* CSI as one character */
    SAYS("\xc3\xa9?\n", "%s\n", "\xc3\xa9\xff");         /* invalid UTF-8 */
    SAYS("a?  |b\n", "%-4s|%.1s\n", "a\n", "bc");
    SAYS("\t\n", "\t\n");
}

static void conversions_are_those_of_printf(void **state)
{
    (void)state;
    SAYS("5 -6 7 8 9", "%d %lld %zu %" PRIu64 " %ld", 5, -6LL, (size_t)7, (uint64_t)8,
         9L);
    SAYS("  1.50|1e+03|2.5 %", "%6.2f|%.0e|%g %%", 1.5, 1000.0, 2.5);
    SAYS("  ab|x    |003|ff|c", "%*s|%-*s|%.*d|%x|%c", 4, "ab", 5, "x", 3, 3, 255, 'c');
    SAYS("abc, 2", "%.*s, %d", 3, "abcdef", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_made_safe),
        cmocka_unit_test(conversions_are_those_of_printf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
