#include "cmd/sweep_grid.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "base/words.h"

enum { MAX_NAME = 180, MAX_RUNS = 10000 };

struct values {
    char **item;
    int n, cap;
};

static void values_add(struct values *v, const char *text, size_t len)
{
    GROW(v->item, v->n, v->cap);
    v->item[v->n++] = xasprintf("%.*s", (int)len, text);
}

/* Adds the values of a range such as "0:0.3:0.1", without rounding noise. Returns false if
 * the text is not a range. */
static bool values_add_range(struct values *v, const char *text)
{
    double part[3];
    const char *cursor = text;
    char *end;

    for (int i = 0; i < 3; i++) {
        part[i] = strtod(cursor, &end);
        if (end == cursor || *end != (i < 2 ? ':' : '\0'))
            return false;
        cursor = end + 1;
    }
    if (!(part[2] > 0) || !(part[1] >= part[0]))
        usage("'%s': invalid range; use FROM:TO:STEP with STEP above 0 and TO not below "
              "FROM",
              text);
    for (int k = 0; k <= MAX_RUNS && part[0] + k * part[2] <= part[1] + part[2] * 1e-6;
         k++) {
        char *number = xasprintf("%.10g", part[0] + k * part[2]);

        values_add(v, number, strlen(number));
        free(number);
    }
    return true;
}

/* Splits the text at commas outside brackets and quotes. */
static void values_of(struct values *v, const char *text)
{
    int depth = 0;
    char quote = 0;

    if (values_add_range(v, text))
        return;
    for (const char *cursor = text, *src = text;; cursor++) {
        if (quote ? *cursor == quote : *cursor == '\'' || *cursor == '"')
            quote = quote ? 0 : *cursor;
        depth += !quote && (*cursor == '[' || *cursor == '(');
        depth -= !quote && (*cursor == ']' || *cursor == ')');
        if (*cursor && (*cursor != ',' || depth > 0 || quote))
            continue;
        values_add(v, src, (size_t)(cursor - src));
        src = cursor + 1;
        if (!*cursor)
            return;
    }
}

static void values_release(struct values *v)
{
    for (int i = 0; i < v->n; i++)
        free(v->item[i]);
    free(v->item);
}

/* Appends "base_lr=0.1" for "TRAIN.BASE_LR=0.1", with _ for characters that file names
 * cannot have. */
static void add_name(struct strbuf *s, const char *word)
{
    size_t key = strcspn(word, "=");
    const char *src = word;

    for (size_t i = 0; i < key; i++)
        if (word[i] == '.')
            src = word + i + 1;
    for (const char *cursor = src; *cursor; cursor++) {
        char c = cursor < word + key ? (char)tolower((unsigned char)*cursor) : *cursor;

        strbuf_addch(s, isalnum((unsigned char)c) || strchr("._=+-", c) ? c : '_');
    }
}

static struct sweep_run *add_run(struct sweep_grid *g)
{
    if (g->n == MAX_RUNS)
        usage("more than %d runs; choose fewer values", MAX_RUNS);
    GROW(g->run, g->n, g->cap);
    g->run[g->n] = (struct sweep_run){0};
    return &g->run[g->n++];
}

static void name_run(struct sweep_run *r, int number)
{
    struct strbuf s = STRBUF_INIT;

    for (int i = 0; i < r->nword; i++) {
        if (i)
            strbuf_addch(&s, '_');
        add_name(&s, r->word[i]);
    }
    if (s.len > MAX_NAME || !s.len) {
        strbuf_reset(&s);
        strbuf_addf(&s, "run%04d", number);
    }
    r->name = strbuf_detach(&s);
}

static void run_release(struct sweep_run *r)
{
    for (int i = 0; i < r->nword; i++)
        free(r->word[i]);
    free(r->word);
    free(r->name);
}

char **sweep_grid_values(const char *text, int *n)
{
    struct values v = {0};

    values_of(&v, text);
    *n = v.n;
    return v.item;
}

bool sweep_grid_add_words(struct sweep_grid *g, char **word, int nword)
{
    struct sweep_run *r = add_run(g);

    r->word = word;
    r->nword = nword;
    name_run(r, g->n);
    for (int i = 0; i + 1 < g->n; i++) {
        if (strcmp(g->run[i].name, r->name) != 0)
            continue;
        run_release(r);
        g->n--;
        return false;
    }
    return true;
}

void sweep_grid_add_axes(struct sweep_grid *g, char *const *axis, int naxis)
{
    struct values *v = xcalloc((size_t)naxis + 1, sizeof(*v));
    int *pos = xcalloc((size_t)naxis + 1, sizeof(*pos)), k = naxis - 1;

    for (int i = 0; i < naxis; i++) {
        const char *equals = strchr(axis[i], '=');

        if (!equals || equals == axis[i] || !equals[1])
            usage("--grid must be KEY=VALUE,VALUE,..., not '%s'", axis[i]);
        values_of(&v[i], equals + 1);
    }
    while (k >= 0 || !naxis) {
        struct sweep_run *r = add_run(g);

        r->word = xcalloc((size_t)naxis + 1, sizeof(*r->word));
        for (int i = 0; i < naxis; i++)
            r->word[r->nword++] = xasprintf("%.*s=%s", (int)strcspn(axis[i], "="),
                                            axis[i], v[i].item[pos[i]]);
        name_run(r, g->n);
        for (k = naxis - 1; k >= 0 && ++pos[k] == v[k].n; k--)
            pos[k] = 0;
        if (!naxis)
            break;
    }
    for (int i = 0; i < naxis; i++)
        values_release(&v[i]);
    free(v);
    free(pos);
}

/* Cuts the line at the first # outside quotes. */
static void cut_comment(char *line)
{
    char quote = 0;

    for (; *line && (quote || *line != '#'); line++)
        if (quote ? *line == quote : *line == '\'' || *line == '"')
            quote = quote ? 0 : *line;
    *line = '\0';
}

static void add_line(struct sweep_grid *g, char *line, const char *path, int number)
{
    struct sweep_run *r;

    cut_comment(line);
    line += strspn(line, " \t\r");
    if (!*line)
        return;
    r = add_run(g);
    r->word = words_split(line);
    if (!r->word)
        usage("%s:%d: missing closing quote", path, number);
    while (r->word[r->nword])
        r->nword++;
    name_run(r, g->n);
}

void sweep_grid_add_file(struct sweep_grid *g, const char *path)
{
    size_t len;
    char *text = file_read_stream(path, 1 << 24, &len), *line = text;
    int number = 1;

    if (!text)
        die("cannot read '%s': %s", path, strerror(errno));
    for (; line; number++) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        add_line(g, line, path, number);
        line = end ? end + 1 : NULL;
    }
    free(text);
}

/* Selection sampling: Knuth, TAOCP volume 2, algorithm 3.4.2 S. */
void sweep_grid_sample(struct sweep_grid *g, int n, uint64_t seed)
{
    int kept = 0, all = g->n;

    for (int i = 0; i < all; i++) {
        struct philox r = philox(seed, PHILOX_SHUFFLE, 0, (uint64_t)i);

        if (philox_uniform(r.v[0]) * (float)(all - i) < (float)(n - kept))
            g->run[kept++] = g->run[i];
        else
            run_release(&g->run[i]);
    }
    g->n = kept;
}

void sweep_grid_check(const struct sweep_grid *g)
{
    struct strmap names = {0};

    for (int i = 0; i < g->n; i++) {
        if (strmap_get(&names, g->run[i].name))
            usage("the run '%s' occurs twice", g->run[i].name);
        strmap_put(&names, g->run[i].name, g->run[i].name);
    }
    strmap_release(&names);
}

void sweep_grid_release(struct sweep_grid *g)
{
    for (int i = 0; i < g->n; i++)
        run_release(&g->run[i]);
    free(g->run);
    *g = (struct sweep_grid){0};
}
