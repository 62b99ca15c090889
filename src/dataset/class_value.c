#include "dataset/class_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "dataset/samples.h"

enum { NAME_BYTES = 255 };

int32_t class_of_number(double v)
{
    if (!(v >= 0 && v <= (double)INT32_MAX))
        return -1;
    return v == (double)(int32_t)v ? (int32_t)v : -1;
}

int32_t class_of_digits(const char *text)
{
    size_t n = strspn(text, "0123456789"), end = n;

    if (text[n] == '.')
        end = n + 1 + strspn(text + n + 1, "0");
    return n && n <= 10 && !text[end] ? class_of_number(strtod(text, NULL)) : -1;
}

int32_t class_of_one_hot(const double *v, size_t n)
{
    int32_t pos = -1;

    for (size_t i = 0; i < n; i++) {
        if (v[i] == 1 && pos < 0 && i <= INT32_MAX)
            pos = (int32_t)i;
        else if (v[i] != 0)
            return -1;
    }
    return n > 1 ? pos : -1;
}

/* True if the text can be a line of classes.txt. */
static bool is_name(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    while (*c >= ' ' && *c != 0x7f)
        c++;
    return *text && !*c && utf8_valid(text);
}

void class_of_text(struct samples *s, struct sample *dst, const void *text, size_t len,
                   const char *src)
{
    static const char blanks[] = " \t\r\n";
    const char *cursor = text;
    char name[NAME_BYTES + 1];

    while (len && memchr(blanks, cursor[0], sizeof(blanks))) {
        cursor++;
        len--;
    }
    while (len && memchr(blanks, cursor[len - 1], sizeof(blanks)))
        len--;
    if (len == 0 || len > NAME_BYTES) {
        samples_damage(s, dst, "%s has %s, no class", src,
                       len ? "more than 255 bytes" : "no text");
        return;
    }
    memcpy(name, cursor, len);
    name[len] = '\0';
    dst->label = class_of_digits(name);
    if (dst->label >= 0)
        return;
    if (strlen(name) < len || !is_name(name)) {
        samples_damage(s, dst, "%s is no text", src);
        return;
    }
    dst->label = SAMPLE_TEXT;
    dst->text = arena_strdup(&s->mem, name);
}
