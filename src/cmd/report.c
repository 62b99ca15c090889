/* trainc report: writes an HTML page about a run, or a comparison of several runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "page/page.h"

enum { DEPTH = 8, MAX_RUNS = 1000 };

/* Folders of runs, and their names in the page. */
struct found {
    char **dir, **name;
    int n, cap, name_cap;
};

static void add_found(struct found *f, const char *dir, const char *name)
{
    int n = f->n;

    GROW(f->dir, f->n, f->cap);
    GROW(f->name, n, f->name_cap);
    f->dir[f->n] = xstrdup(dir);
    f->name[f->n++] = xstrdup(name);
    if (f->n > MAX_RUNS)
        usage("'%s': a page can show at most %d runs", dir, MAX_RUNS);
}

/* name: the path relative to the folder on the command line. */
static void find_runs(struct found *f, const char *dir, const char *name, int depth)
{
    int n;
    char **entry;

    if (page_is_run(dir)) {
        add_found(f, dir, *name ? name : dir);
        return;
    }
    entry = depth < DEPTH ? dir_list(dir, &n) : NULL;
    for (int i = 0; entry && i < n; i++) {
        char *path = path_join(dir, entry[i]);
        char *below = *name ? path_join(name, entry[i]) : xstrdup(entry[i]);

        if (file_is_dir(path))
            find_runs(f, path, below, depth + 1);
        free(below);
        free(path);
    }
    if (entry)
        dir_list_free(entry, n);
}

static void find_all(struct found *f, const struct cmdline *line)
{
    for (int i = 0; i < line->narg; i++) {
        int before = f->n;

        find_runs(f, line->arg[i].text, "", 0);
        if (f->n == before)
            usage("no runs found in '%s': no folder in it contains metrics.jsonl",
                  line->arg[i].text);
    }
}

static void read_runs(struct page_run *r, const struct found *f)
{
    struct strbuf why = STRBUF_INIT;

    for (int i = 0; i < f->n; i++)
        if (!page_run_read(&r[i], f->dir[i], f->name[i], &why))
            die("%s", why.buf);
    strbuf_release(&why);
}

static int report_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct strbuf s = STRBUF_INIT;
    struct found f = {0};
    struct page_run *r;

    (void)cfg;
    find_all(&f, line);
    r = xcalloc((size_t)f.n, sizeof(*r));
    read_runs(r, &f);
    if (f.n == 1)
        page_add_run(&s, r);
    else
        page_add_comparison(&s, r, f.n);
    if (atomic_write_out(out, s.buf, s.len))
        die("cannot write '%s': %s", out, strerror(errno));
    log_info("wrote '%s' (%d run%s)", out, f.n, f.n == 1 ? "" : "s");
    for (int i = 0; i < f.n; i++) {
        page_run_release(&r[i]);
        free(f.dir[i]);
        free(f.name[i]);
    }
    free(f.dir);
    free(f.name);
    free(r);
    strbuf_release(&s);
    return EXIT_OK;
}

static void report_check(const struct config *cfg, const struct cmdline *line,
                         struct problems *p)
{
    (void)cfg;
    if (!line->narg)
        problems_error(p, NULL,
                       "no run: give the folder of a run (OUTPUT/NAME/TAG), or a "
                       "folder that contains runs");
    if (!cmdline_value(line, "--out"))
        problems_error(p, NULL, "no output file: give --out FILE");
    for (int i = 0; i < line->narg; i++)
        if (!file_is_dir(line->arg[i].text))
            problems_error(p, NULL, "'%s' is not a folder", line->arg[i].text);
    run_check_writable(line, "--out", WRITTEN_PAGE, p);
}

static const struct cmd_flag report_flags[] = {
    {"--out", "FILE", "HTML file to write (-: standard output)"},
    {0},
};

static const char *const report_reads[] = {NULL};

const struct verb cmd_report = {
    .name = "report",
    .examples =
        (const char *const[]){"trainc report output/resnet18/default --out page.html",
                              "trainc report output --out all.html", NULL},
    .help = "write an HTML page about a run, or a comparison of several runs",
    .about =
        "RUN is the folder of a run (OUTPUT/NAME/TAG), or a folder that contains runs. "
        "For "
        "one run, writes the report.html that training writes at its end; the run may "
        "still be in progress. For several runs, writes a sortable table, their curves "
        "in "
        "one chart, and the keys in which they differ. The page is a single file and "
        "loads "
        "nothing from the network.",
    .args = "RUN...",
    .max_args = 1000,
    .flags = report_flags,
    .reads = report_reads,
    .check = report_check,
    .run = report_run,
};
