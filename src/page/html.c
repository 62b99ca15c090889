#include "page/html.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "page/assets.h"

void html_add(struct strbuf *s, const char *text)
{
    static const char mark[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const char *cursor = strchr(mark, *c);
        size_t len = utf8_len(c);

        if (cursor)
            strbuf_addstr(s, entity[cursor - mark]);
        else if (!len || (utf8_unsafe(utf8_char(c, len)) && !strchr("\t\n", *c)))
            strbuf_addstr(s, "\xef\xbf\xbd");
        else
            strbuf_add(s, c, len);
        c += len ? len : 1;
    }
}

void html_addf(struct strbuf *s, const char *fmt, ...)
{
    va_list ap;
    char *text;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    html_add(s, text);
    free(text);
}

void html_begin(struct strbuf *s, const char *title)
{
    strbuf_addstr(s, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
                     "charset=\"utf-8\">\n<meta name=\"viewport\" "
                     "content=\"width=device-width, initial-scale=1\">\n<meta "
                     "name=\"generator\" content=\"trainc\">\n<title>");
    html_add(s, title);
    strbuf_addf(s, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>", page_style);
    html_add(s, title);
    strbuf_addstr(s, "</h1>\n");
}

void html_end(struct strbuf *s)
{
    strbuf_addf(s, "<script>\n%s</script>\n</body>\n</html>\n", page_script);
}

void html_section(struct strbuf *s, const char *id, const char *title)
{
    strbuf_addf(s, "<h2 id=\"%s\">", id);
    html_add(s, title);
    strbuf_addstr(s, "</h2>\n");
}

void html_add_data(struct strbuf *s, const char *type, const void *data, size_t len)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789+/";
    const uint8_t *d = data;

    strbuf_addf(s, "src=\"data:%s;base64,", type);
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t v = (uint32_t)d[i] << 16 | (left > 1 ? (uint32_t)d[i + 1] << 8 : 0) |
                     (left > 2 ? d[i + 2] : 0);
        char four[4] = {digit[v >> 18], digit[v >> 12 & 63], digit[v >> 6 & 63],
                        digit[v & 63]};

        if (left < 3)
            four[3] = '=';
        if (left < 2)
            four[2] = '=';
        strbuf_add(s, four, 4);
    }
    strbuf_addch(s, '"');
}

static bool is_number(const char *text)
{
    char *end;

    (void)strtod(text, &end);
    return *text && !*end && !strpbrk(text, "nNxXpP");
}

void html_table_begin(struct strbuf *s, const char *const *column, int n)
{
    strbuf_addstr(s, "<div class=\"wide\"><table class=\"sorts\"><thead><tr>");
    for (int i = 0; i < n; i++) {
        strbuf_addstr(s, "<th tabindex=\"0\">");
        html_add(s, column[i]);
        strbuf_addstr(s, "</th>");
    }
    strbuf_addstr(s, "</tr></thead><tbody>\n");
}

void html_table_row(struct strbuf *s, const char *const *cell, int n)
{
    strbuf_addstr(s, "<tr>");
    for (int i = 0; i < n; i++) {
        strbuf_addstr(s, is_number(cell[i]) ? "<td class=\"n\">" : "<td>");
        html_add(s, cell[i]);
        strbuf_addstr(s, "</td>");
    }
    strbuf_addstr(s, "</tr>\n");
}

void html_table_end(struct strbuf *s)
{
    strbuf_addstr(s, "</tbody></table></div>\n");
}
