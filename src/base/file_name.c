#include "base/file_name.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum { NAME_MAX = 200, EXTENSION_MAX = 16 };

/* Shortens to NAME_MAX bytes, whole characters, and keeps an extension. */
static void shorten(char *s)
{
    size_t len = strlen(s), tail = strlen(path_extension(s)), pos;

    if (len <= NAME_MAX)
        return;
    tail = tail <= EXTENSION_MAX ? tail : 0;
    for (pos = NAME_MAX - tail; pos && ((unsigned char)s[pos] & 0xc0) == 0x80; pos--)
        ;
    memmove(s + pos, s + len - tail, tail + 1);
}

char *file_name_clean(const char *text)
{
    char *s = xstrdup(*text ? text : "_");

    utf8_clean(s);
    for (char *c = s; *c; c++)
        if (*c == '/')
            *c = '_';
    if (*s == '.')
        *s = '_';
    shorten(s);
    return s;
}
