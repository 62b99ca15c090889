/* Compares several runs in one page. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "page/html.h"
#include "page/page.h"

static const char *const columns[] = {
    "run",        "best top-1, %", "best mean IoU", "best mAP", "best R2",
    "best kappa", "training loss", "epochs",        "steps",    "images per second",
    "seconds",    "memory, MiB",   "exit",
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

/* The keys in which the runs differ, except TAG and OUTPUT. */
struct keys {
    const char **key;
    int n, cap;
};

static bool is_name(const char *key)
{
    return !strcmp(key, "TAG") || !strcmp(key, "OUTPUT");
}

static void find_keys(struct keys *k, const struct page_run *r, int n)
{
    for (int owner = 0; owner < n; owner++) {
        const struct table *t = &r[owner].settings;
        int name = table_column(t, "key"), value = table_column(t, "value");

        for (int i = 1; i < t->rows; i++) {
            const char *key = table_cell(t, i, name);
            bool known = is_name(key), differs = false;

            for (int j = 0; j < k->n; j++)
                known = known || !strcmp(k->key[j], key);
            for (int j = 0; !known && j < n; j++)
                differs = differs || strcmp(page_run_setting(&r[j], key),
                                            table_cell(t, i, value)) != 0;
            if (!differs)
                continue;
            GROW(k->key, k->n, k->cap);
            k->key[k->n++] = key;
        }
    }
}

static void numbers_of(const struct page_run *r, double v[COLUMNS])
{
    const double none = (double)NAN,
                 numbers[COLUMNS] = {
                     none,
                     none,
                     none,
                     none,
                     none,
                     none,
                     page_run_loss(r),
                     page_run_number(r, "epochs"),
                     page_run_number(r, "steps"),
                     page_run_number(r, "images_per_second"),
                     page_run_number(r, "wall_seconds"),
                     page_run_number(r, "peak_memory_bytes") / (1 << 20),
                     page_run_number(r, "exit"),
                 };

    memcpy(v, numbers, sizeof(numbers));
    v[page_run_score(r)->column] = page_run_best(r);
}

/* Finds the columns to show: the names, and those in which a run has a number. */
static void find_columns(const struct page_run *r, int n, bool shown[COLUMNS])
{
    memset(shown, 0, COLUMNS * sizeof(*shown));
    shown[0] = true;
    for (int i = 0; i < n; i++) {
        double v[COLUMNS];

        numbers_of(&r[i], v);
        for (int c = 1; c < COLUMNS; c++)
            shown[c] = shown[c] || !isnan(v[c]);
    }
}

static void add_row(struct strbuf *s, const struct page_run *r, const struct keys *k,
                    const bool shown[COLUMNS])
{
    const char **cell = xcalloc((size_t)(COLUMNS + k->n), sizeof(*cell));
    double v[COLUMNS];
    char text[COLUMNS][32];
    int m = 0;

    numbers_of(r, v);
    cell[m++] = r->name;
    for (int i = 1; i < COLUMNS; i++)
        if (shown[i])
            cell[m++] = page_number(text[i], v[i], 5);
    for (int i = 0; i < k->n; i++)
        cell[m++] = page_run_setting(r, k->key[i]);
    html_table_row(s, cell, m);
    free(cell);
}

static void add_errors(struct strbuf *s, const struct page_run *r, int n)
{
    for (int i = 0; i < n; i++) {
        const char *error = json_string_value(json_object_get(r[i].result, "error"));

        if (!error)
            continue;
        strbuf_addstr(s, "<p><b>");
        html_add(s, r[i].name);
        strbuf_addstr(s, "</b> failed: ");
        html_add(s, error);
        strbuf_addstr(s, "</p>\n");
    }
}

void page_add_comparison(struct strbuf *s, const struct page_run *r, int n)
{
    struct keys k = {0};
    const char **head;
    bool shown[COLUMNS];
    char title[48];
    int m = 0;

    find_keys(&k, r, n);
    head = xcalloc((size_t)(COLUMNS + k.n), sizeof(*head));
    find_columns(r, n, shown);
    for (int i = 0; i < COLUMNS; i++)
        if (shown[i])
            head[m++] = columns[i];
    for (int i = 0; i < k.n; i++)
        head[m++] = k.key[i];
    (void)snprintf(title, sizeof(title), "%d runs", n);
    html_begin(s, title);
    strbuf_addstr(s,
                  "<p class=\"dim\">Click a column to sort by it. The last columns are "
                  "the keys in which the runs differ.</p>\n");
    html_table_begin(s, head, m);
    for (int i = 0; i < n; i++)
        add_row(s, &r[i], &k, shown);
    html_table_end(s);
    add_errors(s, r, n);
    html_section(s, "curves", "Curves");
    page_add_curves(s, r, n);
    html_end(s);
    free(head);
    free(k.key);
}
