/* The confusion matrix and the scores of each class. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "page/html.h"
#include "page/page.h"

enum { MOST_CELLS = 64 }; /* a matrix of more classes is not drawn */

static void add_cell(struct strbuf *s, const struct table *t, int row, int column,
                     double all)
{
    double n = table_number(t, row, column), part = all > 0 && n > 0 ? n / all : 0;

    /* The square root of the share: confusions, which one looks for, are small shares. */
    strbuf_addf(s, "<td style=\"background:rgba(var(--heat),%.2f)%s\" title=\"",
                sqrt(part) * 0.95, part > 0.3 ? ";color:var(--bg)" : "");
    html_addf(s, "%s taken for %s: %.0f, %.1f %%", table_cell(t, row, 0),
              table_cell(t, 0, column), n, 100 * part);
    strbuf_addf(s, "\">%.0f</td>", n);
}

static void add_matrix(struct strbuf *s, const struct table *t)
{
    strbuf_addstr(s, "<p class=\"dim\">Rows are the labels, columns the answers; the "
                     "stronger the colour, the larger the share of the row.</p>"
                     "<div class=\"wide\"><table class=\"heat\"><thead><tr><th></th>");
    for (int c = 1; c < t->columns; c++) {
        strbuf_addstr(s, "<th>");
        html_add(s, table_cell(t, 0, c));
        strbuf_addstr(s, "</th>");
    }
    strbuf_addstr(s, "</tr></thead><tbody>\n");
    for (int r = 1; r < t->rows; r++) {
        double all = 0;

        for (int c = 1; c < t->columns; c++)
            all += table_number(t, r, c);
        strbuf_addstr(s, "<tr><th>");
        html_add(s, table_cell(t, r, 0));
        strbuf_addstr(s, "</th>");
        for (int c = 1; c < t->columns; c++)
            add_cell(s, t, r, c, all);
        strbuf_addstr(s, "</tr>\n");
    }
    strbuf_addstr(s, "</tbody></table></div>\n");
}

static void add_scores(struct strbuf *s, const struct table *t)
{
    const char **row = xcalloc((size_t)t->columns, sizeof(*row));

    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++)
            row[c] = table_cell(t, r, c);
        if (!r)
            html_table_begin(s, row, t->columns);
        else
            html_table_row(s, row, t->columns);
    }
    html_table_end(s);
    free(row);
}

void page_add_classes(struct strbuf *s, const struct page_run *r)
{
    html_section(s, "confusion", "Confusion matrix");
    if (!r->confusion.rows)
        strbuf_addstr(s, "<p class=\"dim\">There is none: it is made by the last validation "
                         "of a run in one process, of at most 4096 classes; <code>trainc "
                         "eval --report</code> makes it at any time.</p>\n");
    else if (r->confusion.rows - 1 > MOST_CELLS)
        strbuf_addf(s,
                    "<p class=\"dim\">%d classes are too many to draw: see "
                    "report/confusion.png and report/confusion.csv.</p>\n",
                    r->confusion.rows - 1);
    else
        add_matrix(s, &r->confusion);
    if (!r->classes.rows)
        return;
    html_section(s, "classes", "Classes");
    add_scores(s, &r->classes);
}
