#include "base/utf8.h"

#include <string.h>

uint32_t utf8_char(const unsigned char *s, size_t len)
{
    uint32_t c = len < 2 ? s[0] : s[0] & (0x7fu >> len);

    for (size_t i = 1; i < len; i++)
        c = c << 6 | (s[i] & 0x3fu);
    return c;
}

size_t utf8_len(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = s[0] < 0x80   ? 1
                 : s[0] < 0xc2 ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                               : 4;
    uint32_t c;

    if (len < 2 || s[0] > 0xf4)
        return len < 2 ? len : 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    c = utf8_char(s, len);
    return c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : len;
}

bool utf8_valid(const char *text)
{
    size_t len;

    for (const unsigned char *s = (const unsigned char *)text; *s; s += len)
        if (!(len = utf8_len(s)))
            return false;
    return true;
}

bool utf8_unsafe(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e ||
           c == 0x200f || c == 0xfeff || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

void utf8_clean(char *text)
{
    unsigned char *dst = (unsigned char *)text;
    size_t len;

    for (const unsigned char *s = dst; *s; s += len) {
        size_t valid = utf8_len(s);

        len = valid ? valid : 1;
        if (!valid || utf8_unsafe(utf8_char(s, len))) {
            *dst++ = '?';
            continue;
        }
        memmove(dst, s, len);
        dst += len;
    }
    *dst = '\0';
}
