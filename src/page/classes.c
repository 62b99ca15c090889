/* Adds the confusion matrix and the scores of each class to a page. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "page/html.h"
#include "page/page.h"

enum {
    MAX_CELLS = 64,      /* more classes are shown as an image and a list of pairs */
    MAX_BYTES = 2 << 20, /* largest size of that image */
    MAX_PAIRS = 30
};

static void add_cell(struct strbuf *s, const struct table *t, int row, int column,
                     double all)
{
    double n = table_number(t, row, column), part = all > 0 && n > 0 ? n / all : 0;

    /* The square root makes confusions, which are small shares, visible. */
    strbuf_addf(s, "<td style=\"background:rgba(var(--heat),%.2f)%s\" title=\"",
                sqrt(part) * 0.95, part > 0.3 ? ";color:var(--bg)" : "");
    html_addf(s, "%s predicted as %s: %.0f, %.1f %%", table_cell(t, row, 0),
              table_cell(t, 0, column), n, 100 * part);
    strbuf_addf(s, "\">%.0f</td>", n);
}

static void add_matrix(struct strbuf *s, const struct table *t)
{
    strbuf_addstr(s, "<p class=\"dim\">Rows are labels, columns are predictions. A "
                     "stronger color is a larger share of the row.</p>"
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

/* Adds the first `max` rows of a table. */
static void add_rows(struct strbuf *s, const struct table *t, int max)
{
    const char **row = xcalloc((size_t)t->columns, sizeof(*row));
    char(*text)[32] = xcalloc((size_t)t->columns, sizeof(*text));

    for (int r = 0; r < t->rows && r <= max; r++) {
        for (int c = 0; c < t->columns; c++) {
            double v = c < 2 ? (double)NAN : table_number(t, r, c); /* after the names */

            row[c] = r && !isnan(v) ? page_number(text[c], v, 4) : table_cell(t, r, c);
        }
        if (!r)
            html_table_begin(s, row, t->columns);
        else
            html_table_row(s, row, t->columns);
    }
    html_table_end(s);
    free(row);
    free(text);
}

/* Adds confusion.png, which has no class names, and the names of the most confused
 * classes. */
static void add_large(struct strbuf *s, const struct page_run *r)
{
    char *path = xasprintf("%s/report/confusion.png", r->dir);
    size_t len;
    char *png = file_read(path, &len);

    strbuf_addf(
        s,
        "<p class=\"dim\">%d classes. report/confusion.csv holds the numbers. Rows "
        "of the image are labels, columns are predictions, in the order of that "
        "file. A darker pixel is a larger share of the row.</p>\n",
        r->confusion.rows - 1);
    if (png && len <= MAX_BYTES) {
        strbuf_addstr(s, "<div class=\"images\"><figure><img alt=\"confusion matrix\" ");
        html_add_data(s, "image/png", png, len);
        strbuf_addstr(s, "></figure></div>\n");
    }
    if (r->pairs.rows > 1) {
        strbuf_addstr(s, "<p class=\"dim\">Most confused classes:</p>\n");
        add_rows(s, &r->pairs, MAX_PAIRS);
    }
    free(png);
    free(path);
}

void page_add_classes(struct strbuf *s, const struct page_run *r)
{
    if (r->targets.rows) { /* of a regression */
        html_section(s, "targets", "Targets");
        add_rows(s, &r->targets, r->targets.rows);
        return;
    }
    html_section(s, "confusion", "Confusion matrix");
    if (!r->confusion.rows)
        strbuf_addstr(s,
                      "<p class=\"dim\">No confusion matrix. The last validation of a "
                      "run in one process writes it, for up to 4096 classes; "
                      "<code>trainc eval --report</code> writes it at any time.</p>\n");
    else if (r->confusion.rows - 1 > MAX_CELLS)
        add_large(s, r);
    else
        add_matrix(s, &r->confusion);
    if (!r->classes.rows)
        return;
    html_section(s, "classes", "Classes");
    add_rows(s, &r->classes, r->classes.rows);
}
