#include "base/file_name.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"

enum { NAME_MOST = 200, EXTENSION_MOST = 16 };

/* Shortens to NAME_MOST bytes, whole characters, and keeps an extension. */
static void shorten(char *s)
{
    size_t len = strlen(s), tail = strlen(path_extension(s)), at;

    if (len <= NAME_MOST)
        return;
    tail = tail <= EXTENSION_MOST ? tail : 0;
    for (at = NAME_MOST - tail; at && ((unsigned char)s[at] & 0xc0) == 0x80; at--)
        ;
    memmove(s + at, s + len - tail, tail + 1);
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
