#include "config/argword.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/pystring.h"

static const char *after_number(const char *text)
{
    char *end;

    (void)strtod(text, &end);
    return end;
}

bool argword_is_number(const char *text)
{
    const char *end = after_number(text);

    return end != text && !*end;
}

bool argword_starts_number(const char *text)
{
    const char *end = after_number(text);

    return end != text && strchr(",])", *end);
}

bool argword_is_pair(const char *text)
{
    size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                              "0123456789_.");

    return len && text[len] == '=';
}

bool argword_is_bare_pair(const char *text)
{
    return isupper((unsigned char)*text) && argword_is_pair(text);
}

/* Returns the closing quote of the Python string that starts at `c`, or NULL if it is not
 * closed. */
static const char *last_quote(const char *c)
{
    char q;

    c += strcspn(c, "'\"");
    for (q = *c++; *c && *c != q; c++)
        if (*c == '\\' && c[1])
            c++;
    return *c ? c : NULL;
}

bool argword_is_open(const char *text)
{
    const char *c = text + strspn(text, " \t");
    bool item = true; /* true at the start of an item: the quote in "it's" does not begin
                       * a string */
    int depth = 0;

    if (*c != '[' && *c != '(')
        return false;
    for (; *c; c++) {
        if (item && pystring_starts(c)) {
            c = last_quote(c);
            if (!c)
                return true;
        }
        depth += (*c == '[' || *c == '(') - (*c == ']' || *c == ')');
        item = strchr("[(, \t", *c) != NULL;
    }
    return depth > 0;
}
