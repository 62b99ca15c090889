#include "cmd/models_pretrained.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/say.h"
#include "models/pretrained.h"
#include "models/table.h"
#include "train/weights_cache.h"
#include "train/weights_fetch.h"

static int by_name(const void *a, const void *b)
{
    const struct pretrained *const *x = a, *const *y = b;

    return model_natural_order((*x)->name, (*y)->name);
}

/* A pattern without a tag matches all tags. */
static bool matches(const struct pretrained *p, const char *glob)
{
    char *arch = xstrndup(p->name, strcspn(p->name, "."));
    bool is = !fnmatch(glob, p->name, 0) || !fnmatch(glob, arch, 0);

    free(arch);
    return is;
}

static char *cached_at(const struct pretrained *p)
{
    return weights_cache_find(&(struct pretrained_request){.row = p});
}

static void print_row(const struct pretrained *p, int width)
{
    char *path = cached_at(p), top[32] = "      -       -";

    if (p->top1 > 0)
        (void)snprintf(top, sizeof(top), "%7.3f %7.3f", p->top1, p->top5);
    say("%-*s %4d %6.3f %7d %s  %-14s %s\n", width, p->name, p->size, p->crop_pct,
        p->classes, top, *p->license ? p->license : "-", path ? "cached" : "");
    free(path);
}

/* Prints the URLs, the cache paths, and whether the file is cached. Only the hub has
 * revisions. */
static void print_places(const struct pretrained_request *r)
{
    char *path = weights_cache_find(r);

    for (int hub = r->revision != NULL; hub < 2; hub++) {
        char *url = weights_cache_url(r, hub), *place = weights_cache_place(r, hub);

        if (url)
            say("url      %s\nplace    %s\n", url, place);
        free(url);
        free(place);
    }
    say("cached   %s\n", path ? path : "no");
    free(path);
}

static void print_details(const struct pretrained *p, const char *revision)
{
    say("\ninput    %d x %d pixels, crop %g (%s%s)\n", p->size, p->size, p->crop_pct,
        p->bilinear ? "bilinear" : "bicubic", p->squash ? ", stretched" : "");
    say("mean     %g, %g, %g\nstd      %g, %g, %g\n", p->mean[0], p->mean[1], p->mean[2],
        p->std[0], p->std[1], p->std[2]);
    print_places(&(struct pretrained_request){.row = p, .revision = revision});
}

/* Parses a value of MODEL.PRETRAINED that names one file (hf-hub:, timm/, a release file,
 * a deprecated name). Returns an empty request for an architecture, which is a pattern of
 * all its tags. */
static struct pretrained_request request_of(const char *glob)
{
    struct pretrained_request r = {0};
    struct strbuf unused = STRBUF_INIT;
    bool one = pretrained_parse(glob, "", &r, &unused);
    size_t arch = r.row ? strcspn(r.row->name, ".") : 0;

    if (!one || r.dir || (arch == strlen(glob) && !strncmp(r.row->name, glob, arch)))
        r = (struct pretrained_request){0};
    strbuf_release(&unused);
    return r;
}

void models_list_pretrained(const char *glob, const char *exclude, bool cached)
{
    struct pretrained_request r = request_of(glob);
    const struct pretrained **row = NULL;
    size_t n = 0, cap = 0, matched = 0;
    int width = 12;

    if (r.hub) {
        print_places(&r);
        return;
    }
    if (r.row)
        glob = r.row->name;
    for (const struct pretrained *p = pretrained_table; p->name; p++) {
        bool is = matches(p, glob) && !(exclude && matches(p, exclude));
        char *path = is ? cached_at(p) : NULL;

        matched += is;
        if (path || (!cached && is)) {
            GROW(row, n, cap);
            row[n++] = p;
            if ((int)strlen(p->name) > width)
                width = (int)strlen(p->name);
        }
        free(path);
    }
    if (!matched)
        usage("no public weights match '%s'", glob);
    if (n)
        qsort(row, n, sizeof(*row), by_name);
    say("%-*s %4s %6s %7s %7s %7s  %-14s %s\n", width, "weights", "size", "crop",
        "classes", "top-1", "top-5", "license", "on this machine");
    for (size_t i = 0; i < n; i++)
        print_row(row[i], width);
    if (n == 1)
        print_details(row[0], r.revision);
    free(row);
}

void models_download(const struct config *cfg, const char *name)
{
    struct pretrained_request r;
    struct strbuf why = STRBUF_INIT, reason = STRBUF_INIT;
    char *path;

    if (!pretrained_parse(name, "", &r, &why) || r.dir) {
        if (!why.len)
            strbuf_addf(&why, "'%s' is not the name of downloadable weights", name);
        usage("--download: %s", why.buf);
    }
    path = weights_cache_find(&r);
    if (!path && weights_may_fetch(cfg, &reason)) {
        if (r.hub)
            free(weights_fetch_config(cfg, &r, &reason));
        path = weights_fetch(cfg, &r, &why);
    } else if (!path) {
        weights_say_missing(&r, &why);
        strbuf_addf(&why, " (not downloaded: %s)", reason.buf);
    }
    if (!path)
        die("%s", why.buf);
    say("%s\n", path);
    strbuf_release(&reason);
    strbuf_release(&why);
    free(path);
}
