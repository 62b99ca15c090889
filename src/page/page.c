/* Writes report.html of one run. */
#include "page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "page/html.h"

const char *page_number(char text[32], double v, int digits)
{
    bool whole = v == rint(v) || fabs(v) >= pow(10, digits);

    if (isnan(v))
        text[0] = '\0';
    else if (whole && fabs(v) < 1e15)
        (void)snprintf(text, 32, "%.0f", v);
    else
        (void)snprintf(text, 32, "%.*g", digits, v);
    return text;
}

static void add_card(struct strbuf *s, const char *name, const char *value)
{
    if (!*value)
        return;
    strbuf_addstr(s, "<div class=\"card\"><b>");
    html_add(s, value);
    strbuf_addstr(s, "</b>");
    html_add(s, name);
    strbuf_addstr(s, "</div>\n");
}

static void add_duration_card(struct strbuf *s, const char *name, double seconds)
{
    struct strbuf t = STRBUF_INIT;

    if (!isnan(seconds)) {
        strbuf_add_duration(&t, seconds);
        add_card(s, name, t.buf);
    }
    strbuf_release(&t);
}

static void add_bytes_card(struct strbuf *s, const char *name, double bytes)
{
    struct strbuf t = STRBUF_INIT;

    if (!isnan(bytes)) {
        strbuf_add_bytes(&t, bytes);
        add_card(s, name, t.buf);
    }
    strbuf_release(&t);
}

static void add_cards(struct strbuf *s, const struct page_run *r)
{
    const char *error = json_string_value(json_object_get(r->result, "error"));
    char t[32];

    strbuf_addstr(s, "<div class=\"cards\">\n");
    add_card(s, page_run_score(r)->card, page_number(t, page_run_best(r), 4));
    add_card(s, "training loss", page_number(t, page_run_loss(r), 4));
    add_card(s, "epochs", page_number(t, page_run_number(r, "epochs"), 6));
    add_card(s, "steps", page_number(t, page_run_number(r, "steps"), 9));
    add_card(s, "images per second",
             page_number(t, page_run_number(r, "images_per_second"), 4));
    add_duration_card(s, "wall clock", page_run_number(r, "wall_seconds"));
    add_bytes_card(s, page_run_on_device(r) ? "device memory" : "tensor memory",
                   page_run_number(r, "peak_memory_bytes"));
    strbuf_addstr(s, "</div>\n");
    if (error) {
        strbuf_addstr(s, "<p><b>The run failed:</b> ");
        html_add(s, error);
        strbuf_addstr(s, "</p>\n");
    }
}

/* Keys of result.json, in bytes or seconds. */
static const struct {
    const char *key, *name;
    bool bytes;
} resources[] = {
    {"wall_seconds", "wall clock of the last process, s", false},
    {"train_seconds", "training, s", false},
    {"data_wait_seconds", "training, waiting for data, s", false},
    {"device_open_seconds", "opening the device, s", false},
    {"first_step_seconds", "time to the first batch, s", false},
    {"peak_memory_bytes", "tensor memory", true},
    {"library_memory_bytes", "library memory", true},
};

static void add_resources(struct strbuf *s, const struct page_run *r)
{
    const json_t *stages = json_object_get(r->result, "data_stage_seconds"), *v;
    const char *key;

    html_section(s, "time", "Time and memory");
    html_table_begin(s, (const char *[]){"resource", "amount"}, 2);
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
        double n = page_run_number(r, resources[i].key);
        struct strbuf t = STRBUF_INIT;

        if (isnan(n))
            continue;
        if (resources[i].bytes)
            strbuf_add_bytes(&t, n);
        else
            strbuf_addf(&t, "%.2f", n);
        html_table_row(s, (const char *[]){resources[i].name, t.buf}, 2);
        strbuf_release(&t);
    }
    json_object_foreach((json_t *)(uintptr_t)stages, key, v)
    {
        char *name = xasprintf("loader threads, %s, s", key), t[32];

        html_table_row(s, (const char *[]){name, page_number(t, json_number_value(v), 4)},
                       2);
        free(name);
    }
    html_table_end(s);
    if (!r->derived)
        return;
    strbuf_addstr(s, "<details><summary>derived.yaml: values derived from the "
                     "configuration</summary><pre>");
    html_add(s, r->derived);
    strbuf_addstr(s, "</pre></details>\n");
}

static void add_table(struct strbuf *s, const struct table *t,
                      bool (*shown)(const struct table *t, int row))
{
    const char **row = xcalloc((size_t)t->columns + 1, sizeof(*row));

    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++)
            row[c] = table_cell(t, r, c);
        if (!r)
            html_table_begin(s, row, t->columns);
        else if (!shown || shown(t, r))
            html_table_row(s, row, t->columns);
    }
    html_table_end(s);
    free(row);
}

static bool has_values(const struct table *t, int column)
{
    for (int r = 1; r < t->rows; r++)
        if (*table_cell(t, r, column))
            return true;
    return false;
}

/* Adds summary.csv with epochs from 1, rounded numbers, and without empty columns. */
static void add_epochs(struct strbuf *s, const struct table *t)
{
    const char **row = xcalloc((size_t)t->columns + 1, sizeof(*row));
    char(*text)[32] = xcalloc((size_t)t->columns + 1, sizeof(*text));
    int epoch = table_column(t, "epoch");

    for (int r = 0; r < t->rows; r++) {
        int n = 0;

        for (int c = 0; c < t->columns; c++) {
            double v = table_number(t, r, c);

            if (!has_values(t, c))
                continue;
            row[n++] = r && !isnan(v) ? page_number(text[c], c == epoch ? v + 1 : v, 5)
                                      : table_cell(t, r, c);
        }
        if (!r)
            html_table_begin(s, row, n);
        else
            html_table_row(s, row, n);
    }
    html_table_end(s);
    free(row);
    free(text);
}

static bool differs(const struct table *t, int row)
{
    int value = table_column(t, "value"), def = table_column(t, "default");

    return strcmp(table_cell(t, row, value), table_cell(t, row, def)) != 0;
}

static void add_settings(struct strbuf *s, const struct page_run *r)
{
    html_section(s, "configuration", "Configuration");
    if (!r->settings.rows) {
        strbuf_addstr(s, "<p class=\"dim\">The folder has no settings.csv.</p>\n");
        return;
    }
    strbuf_addstr(s, "<p class=\"dim\">Keys that differ from the defaults, and their "
                     "origins.</p>\n");
    add_table(s, &r->settings, differs);
    strbuf_addstr(s, "<details><summary>all keys</summary>\n");
    add_table(s, &r->settings, NULL);
    strbuf_addstr(s, "</details>\n");
}

static void add_model(struct strbuf *s, const struct page_run *r)
{
    const struct table *t = &r->model;
    int params = table_column(t, "parameters"), macs = table_column(t, "macs");
    double sum[2] = {0, 0};
    struct strbuf text = STRBUF_INIT;

    if (!t->rows)
        return;
    for (int i = 1; i < t->rows; i++) {
        sum[0] += table_number(t, i, params);
        sum[1] += table_number(t, i, macs);
    }
    strbuf_add_grouped(&text, (long long)sum[0]);
    html_section(s, "model", "Model");
    strbuf_addf(s,
                "<p>%s parameters, %.4g million MACs per image.</p><details>"
                "<summary>layers</summary>\n",
                text.buf, sum[1] / 1e6);
    add_table(s, t, NULL);
    strbuf_addstr(s, "</details>\n");
    strbuf_release(&text);
}

void page_add_run(struct strbuf *s, const struct page_run *r)
{
    html_begin(s, r->name);
    strbuf_addstr(s, "<nav><a href=\"#curves\">curves</a><a href=\"#configuration\">"
                     "configuration</a><a href=\"#model\">model</a><a "
                     "href=\"#confusion\">classes</a><a href=\"#time\">time and "
                     "memory</a></nav>\n");
    add_cards(s, r);
    html_section(s, "curves", "Curves");
    page_add_curves(s, r, 1);
    add_settings(s, r);
    add_model(s, r);
    page_add_classes(s, r);
    page_add_images(s, r);
    add_resources(s, r);
    if (r->epochs.rows > 1) {
        html_section(s, "epochs", "Epochs");
        add_epochs(s, &r->epochs);
    }
    html_end(s);
}
