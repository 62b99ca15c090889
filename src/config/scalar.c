#include "config/scalar.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { NULL_, TRUE_, FALSE_, INT, FLOAT, TIME, KINDS };

/* The regular expressions of YAML 1.1 as in PyYAML: 1e3, -.5, and 1.0e3 are not
 * floats. */
static const char *const pattern[KINDS] = {
    [NULL_] = "^(~|null|Null|NULL|)$",
    [TRUE_] = "^(yes|Yes|YES|true|True|TRUE|on|On|ON)$",
    [FALSE_] = "^(no|No|NO|false|False|FALSE|off|Off|OFF)$",
    [INT] = "^[-+]?(0b_*[01][01_]*|0[0-7_]*|[1-9][0-9_]*(:[0-5]?[0-9])*|"
            "0x_*[0-9a-fA-F][0-9a-fA-F_]*)$",
    [FLOAT] = "^([-+]?[0-9][0-9_]*\\.[0-9_]*([eE][-+][0-9]+)?|"
              "\\.[0-9][0-9_]*([eE][-+][0-9]+)?|"
              "[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\\.[0-9_]*|"
              "[-+]?\\.(inf|Inf|INF)|\\.(nan|NaN|NAN))$",
    [TIME] = "^([0-9]{4}-[0-9]{2}-[0-9]{2}|"
             "[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}"
             "(\\.[0-9]*)?([ \t]*(Z|[-+][0-9][0-9]?(:[0-9]{2})?))?)$",
};

static regex_t re[KINDS];

static void compile(void)
{
    for (int k = 0; k < KINDS; k++)
        if (regcomp(&re[k], pattern[k], REG_EXTENDED | REG_NOSUB))
            BUG("regular expression %d", k);
}

static int kind_of(const char *text)
{
    static pthread_once_t compiled = PTHREAD_ONCE_INIT;

    (void)pthread_once(&compiled, compile);
    for (int k = 0; k < KINDS; k++)
        if (!regexec(&re[k], text, 0, NULL, 0))
            return k;
    return KINDS;
}

/* Parses base 60: 1:30 is 90, 1:30.5 is 90.5. */
static double base60(const char *digits)
{
    double v = 0;

    for (char *end; *digits; digits = *end ? end + 1 : end)
        v = v * 60 + strtod(digits, &end);
    return v;
}

static struct value integer(const char *digits, bool minus)
{
    int base = digits[0] != '0' ? 10 : digits[1] == 'b' ? 2 : digits[1] == 'x' ? 16 : 8;
    uint64_t max = (uint64_t)INT64_MAX + minus, i;

    if (strchr(digits, ':')) {
        double v = base60(digits);

        if (!(v < 9e15))
            return (struct value){.type = VALUE_OTHER};
        return value_int((int64_t)(minus ? -v : v));
    }
    errno = 0;
    i = strtoull(digits + (base == 2 || base == 16 ? 2 : 0), NULL, base);
    if (errno == ERANGE || i > max)
        return (struct value){.type = VALUE_OTHER};
    return value_int((int64_t)(minus ? 0 - i : i));
}

static struct value floating(const char *digits, bool minus)
{
    double f;

    if (digits[0] == '.' && strchr("iI", digits[1]))
        f = INFINITY;
    else if (digits[0] == '.' && strchr("nN", digits[1]))
        return value_float(NAN);
    else
        f = strchr(digits, ':') ? base60(digits) : strtod(digits, NULL);
    return value_float(minus ? -f : f);
}

static struct value number(const char *text, int kind)
{
    struct strbuf buf = STRBUF_INIT;
    bool minus = *text == '-';
    struct value v;

    for (text += minus || *text == '+'; *text; text++)
        if (*text != '_')
            strbuf_addch(&buf, *text);
    v = kind == INT ? integer(buf.buf, minus) : floating(buf.buf, minus);
    strbuf_release(&buf);
    return v;
}

struct value scalar_resolve(struct arena *a, const char *text)
{
    struct value v;
    int kind = kind_of(text);

    if (kind == NULL_)
        v = value_none();
    else if (kind == TRUE_ || kind == FALSE_)
        v = value_bool(kind == TRUE_);
    else if (kind == INT || kind == FLOAT)
        v = number(text, kind);
    else if (kind == TIME || !strcmp(text, "="))
        v = (struct value){.type = VALUE_OTHER};
    else
        v = value_str(a, text);
    v.text = arena_strdup(a, text);
    return v;
}
