/*
 * Parts of a self-contained HTML page: style and script are embedded, images are data URIs,
 * and nothing is loaded. Supports light and dark mode (CSS prefers-color-scheme) and small
 * screens.
 *
 *   html_begin(&s, "resnet50/default");
 *   html_section(&s, "curves", "Curves");
 *   strbuf_addstr(&s, "<p>"); html_add(&s, name); strbuf_addstr(&s, "</p>");
 *   html_end(&s);
 */
#ifndef PAGE_HTML_H
#define PAGE_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

void html_begin(struct strbuf *s, const char *title);
void html_end(struct strbuf *s);
/* Appends a heading with an anchor. id: a plain word. */
void html_section(struct strbuf *s, const char *id, const char *title);

/* Appends escaped text, also valid in double-quoted attributes. Bytes that are not UTF-8
 * become U+FFFD. */
void html_add(struct strbuf *s, const char *text);
__attribute__((format(printf, 2, 3))) void html_addf(struct strbuf *s, const char *fmt,
                                                     ...);

/* Appends src="data:TYPE;base64,...". */
void html_add_data(struct strbuf *s, const char *type, const void *data, size_t len);

/* A table that a click on a column sorts. Numbers are right-aligned and sorted
 * numerically. */
void html_table_begin(struct strbuf *s, const char *const *column, int n);
void html_table_row(struct strbuf *s, const char *const *cell, int n);
void html_table_end(struct strbuf *s);

#endif
