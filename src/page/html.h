/*
 * Pieces of an HTML page that stands alone: style and script are in it, images are data
 * URIs, and nothing is fetched. Light or dark as the browser asks for it (CSS
 * prefers-color-scheme), readable on a telephone.
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
/* A heading with an anchor; `id` is a plain word. */
void html_section(struct strbuf *s, const char *id, const char *title);

/* Text, in which no byte is markup; what is not UTF-8 becomes U+FFFD. Good in attributes
 * in double quotes, too. */
void html_add(struct strbuf *s, const char *text);
__attribute__((format(printf, 2, 3))) void html_addf(struct strbuf *s, const char *fmt,
                                                     ...);

/* src="data:TYPE;base64,..." */
void html_add_data(struct strbuf *s, const char *type, const void *data, size_t len);

/* A table that sorts by a click on a column. A cell that is a number is aligned and
 * sorted as one. */
void html_table_begin(struct strbuf *s, const char *const *column, int n);
void html_table_row(struct strbuf *s, const char *const *cell, int n);
void html_table_end(struct strbuf *s);

#endif
