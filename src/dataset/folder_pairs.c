/*
 * DATA.DATASET pairs: images in one folder and label maps in another, or both in one.
 * folder_pairs.h finds the folders; files are matched by their path without extension
 * (a.jpg and a.png) or by usual_stem() (a_img.jpg and a_mask.png), in one folder only by
 * the latter. Samples are in byte order of the image paths. Files without a partner are
 * skipped and counted in the log.
 */
#include "dataset/folder_pairs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/file_pairs.h"
#include "dataset/pairs.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* ---- the folders ---- */

enum { FOLDERS = 256 /* maximum number of candidates */ };

struct candidate {
    char *path; /* relative to the root */
    struct usual_words words;
};

struct candidates {
    const char *root;
    struct candidate candidate[FOLDERS];
    int n;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct candidate *)a)->path,
                  ((const struct candidate *)b)->path);
}

/* Adds the folders in `below` that have a usual name. Does not stat regular files, as
 * there may be millions. */
static void add_candidates(struct candidates *c, const char *below)
{
    char *dir = *below ? path_join(c->root, below) : xstrdup(c->root);
    DIR *d = opendir(dir);
    struct dirent *e;

    while (d && c->n < FOLDERS && (e = readdir(d))) {
        struct candidate *candidate = &c->candidate[c->n];
        char *path, *full;

        if (e->d_type == DT_REG || usual_is_system(e->d_name))
            continue;
        path = *below ? path_join(below, e->d_name) : xstrdup(e->d_name);
        full = path_join(c->root, path);
        if (usual_words_parse(path, &candidate->words) &&
            (candidate->words.role || candidate->words.split) && file_is_dir(full)) {
            candidate->path = path;
            path = NULL;
            c->n++;
        }
        free(full);
        free(path);
    }
    if (d)
        (void)closedir(d);
    free(dir);
}

/* Returns the candidates in the root and one level below. */
static struct candidates *candidates_of(const char *root)
{
    struct candidates *c = xcalloc(1, sizeof(*c));

    int top;

    c->root = root;
    add_candidates(c, "");
    top = c->n;
    for (int i = 0; i < top; i++)
        add_candidates(c, c->candidate[i].path);
    qsort(c->candidate, (size_t)c->n, sizeof(*c->candidate), by_path);
    return c;
}

static void candidates_free(struct candidates *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->candidate[i].path);
    free(c);
}

/* True if the two folders may hold the images and label maps of a split: "images/train"
 * and "labels/train", or "train" and "train_labels". */
static bool is_folder_pair(const struct candidate *images, const struct candidate *labels,
                           const char *split)
{
    const struct usual_words *a = &images->words, *b = &labels->words;
    bool plain = a->role == USUAL_OTHER && !a->others && *split;

    return (plain || a->role == USUAL_IMAGES) && b->role == USUAL_LABELS &&
           strcmp(a->split_word, split) == 0 && strcmp(b->split_word, split) == 0 &&
           strcmp(a->rest, b->rest) == 0;
}

/* True if the images of subfolders belong to the folder: not for "train", which may have
 * its own images apart from train/images. */
static bool is_deep(const char *images)
{
    struct usual_words w;

    return usual_words_parse(images, &w) && w.role == USUAL_IMAGES;
}

/* Returns a folder of the data set as a heap string; `below` may be "". */
static char *dir_of(const char *root, const char *below)
{
    return *below ? path_join(root, below) : xstrdup(root);
}

/* Matches the files of two folders, or of one that is both. */
static void match_folders(struct file_pairs *m, const char *root, const char *images,
                          const char *labels)
{
    bool one = strcmp(images, labels) == 0;
    char *image_dir = dir_of(root, images), *label_dir = dir_of(root, labels);

    file_pairs_match(m, image_dir, one ? NULL : label_dir, one || is_deep(images));
    free(image_dir);
    free(label_dir);
}

/* Replaces the folders if these have more matching names. */
static void try_folders(struct folder_pairs *f, const char *root, const char *images,
                        const char *labels)
{
    struct file_pairs m;

    match_folders(&m, root, images, labels);
    f->others += m.n > 0 && f->matched > 0;
    if (m.n > f->matched) {
        free(f->images);
        free(f->labels);
        f->images = xstrdup(images);
        f->labels = xstrdup(labels);
        f->nimages = m.images.n;
        f->nlabels = m.labels.n;
        f->matched = m.n;
    }
    file_pairs_release(&m);
}

/* True if the folder may hold the images of a split next to their label maps: "train",
 * "images/train". */
static bool is_shared(const struct candidate *candidate, const char *split)
{
    const struct usual_words *w = &candidate->words;

    return *split && strcmp(w->split_word, split) == 0 && w->role != USUAL_LABELS &&
           (w->role == USUAL_IMAGES || !w->others);
}

/* Returns the next folder, from *i on, that has label maps next to the images of the
 * split, or NULL. Without a split, that is the root. Subfolders belong to their folder. */
static const char *next_shared(const struct candidates *c, const char *split, int *i)
{
    const char *found = NULL, *outer = NULL;

    if (!*split)
        return (*i)++ == 0 && file_pairs_are_neighbors(c->root) ? "" : NULL;
    for (int k = 0; k < c->n && !found; k++) {
        const char *path = c->candidate[k].path;
        size_t n = outer ? strlen(outer) : 0;
        char *dir;

        if (!is_shared(&c->candidate[k], split) ||
            (outer && strncmp(path, outer, n) == 0 && path[n] == '/'))
            continue;
        outer = path;
        if (k < *i)
            continue;
        dir = dir_of(c->root, path);
        *i = k + 1;
        found = file_pairs_are_neighbors(dir) ? path : NULL;
        free(dir);
    }
    return found;
}

bool folder_pairs_find(struct folder_pairs *f, const char *root, const char *split)
{
    struct candidates *c = candidates_of(root);
    const char *shared = NULL;
    int next = 0;

    *f = (struct folder_pairs){0};
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->n; k++)
            if (is_folder_pair(&c->candidate[i], &c->candidate[k], split))
                try_folders(f, root, c->candidate[i].path, c->candidate[k].path);
    while (!f->matched && (shared = next_shared(c, split, &next)))
        try_folders(f, root, shared, shared);
    candidates_free(c);
    return f->matched > 0;
}

void folder_pairs_release(struct folder_pairs *f)
{
    free(f->images);
    free(f->labels);
}

int64_t folder_pairs_count(const char *root, const char *images, const char *labels)
{
    char *image_dir = dir_of(root, images), *label_dir = dir_of(root, labels);
    struct file_pairs m;
    int64_t n;

    file_pairs_match(&m, image_dir, label_dir, true);
    n = m.n;
    file_pairs_release(&m);
    free(image_dir);
    free(label_dir);
    return n;
}

/* True if one of the first entries of a folder is an image, or its subfolders have
 * one. */
static bool has_image(const char *root, const char *below, int depth)
{
    enum { LOOKS = 100, DEPTH = 3 };
    char *dir = path_join(root, below);
    DIR *d = depth < DEPTH ? opendir(dir) : NULL;
    struct dirent *e;
    bool has = false;

    for (int looks = 0; d && !has && looks < LOOKS && (e = readdir(d)); looks++) {
        if (usual_is_system(e->d_name))
            continue;
        has = image_has_extension(e->d_name);
        if (!has && e->d_type != DT_REG)
            has = has_image(dir, e->d_name, depth + 1);
    }
    if (d)
        closedir(d);
    free(dir);
    return has;
}

bool folder_pairs_probe(const char *root, const char *split)
{
    struct candidates *c = candidates_of(root);
    bool is = false;
    int next = 0;

    for (int i = 0; i < c->n && !is; i++)
        for (int k = 0; k < c->n && !is; k++)
            is = is_folder_pair(&c->candidate[i], &c->candidate[k], split ? split : "") &&
                 has_image(root, c->candidate[i].path, 0) &&
                 has_image(root, c->candidate[k].path, 0);
    is = is || next_shared(c, split ? split : "", &next);
    candidates_free(c);
    return is;
}

/* ---- storage ---- */

static const char *split_of(const struct dataset_source *s)
{
    return s->split ? s->split : "";
}

static bool pairs_probe(const struct dataset_source *s)
{
    return folder_pairs_probe(s->path, s->split);
}

static bool pairs_check(const struct dataset_source *s, struct strbuf *why)
{
    bool is = pairs_probe(s);

    if (!is)
        strbuf_addf(why,
                    "'%s' has no pair of image and label map folders%s%s%s, such as "
                    "images and masks, and no label maps next to images, such as a.jpg "
                    "and a_mask.png",
                    s->path, *split_of(s) ? " for the split '" : "", split_of(s),
                    *split_of(s) ? "'" : "");
    return is;
}

static void warn_of_partners(const struct pairs *p, const struct file_pairs *m,
                             const struct folder_pairs *f)
{
    char *image_dir = dir_of(p->root, f->images), *label_dir = dir_of(p->root, f->labels);
    bool one = strcmp(f->images, f->labels) == 0;
    const char *image = "", *label = "";

    for (int64_t i = m->images.n - 1; i >= 0; i--)
        image = m->label[i] < 0 ? m->images.path[i] : image;
    for (int64_t i = m->labels.n - 1; i >= 0; i--)
        label = m->image[i] < 0 ? m->labels.path[i] : label;
    if (m->n < m->images.n)
        log_warning("'%s': skipping images without a label map%s%s (%lld of %lld), such "
                    "as '%s'",
                    image_dir, one ? "" : " in ", one ? "" : f->labels,
                    (long long)(m->images.n - m->n), (long long)m->images.n, image);
    if (m->n < m->labels.n)
        log_warning("'%s': skipping label maps without an image%s%s (%lld of %lld), such "
                    "as '%s'",
                    label_dir, one ? "" : " in ", one ? "" : f->images,
                    (long long)(m->labels.n - m->n), (long long)m->labels.n, label);
    free(image_dir);
    free(label_dir);
}

/* Returns the path of a file in a folder of the data set, in the memory of `p`. */
static const char *pair_path(struct pairs *p, const char *dir, const char *file)
{
    return *dir ? arena_printf(&p->mem, "%s/%s", dir, file) : file;
}

static struct dataset *folder_pairs_open(const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;
    struct folder_pairs f;
    struct file_pairs m;
    struct pairs *p;
    char *dir;

    if (!pairs_check(s, &why))
        die("%s", why.buf);
    if (!folder_pairs_find(&f, s->path, split_of(s)))
        die("'%s': no image of the split '%s' has a label map with a matching name",
            s->path, split_of(s));
    dir = dir_of(s->path, f.images);
    p = pairs_new(s, dir);
    match_folders(&m, s->path, f.images, f.labels);
    if (m.twice[0] >= 0)
        die("'%s': the label map '%s' matches two images by name: '%s' and '%s'", s->path,
            pair_path(p, f.labels, m.labels.path[m.label[m.twice[0]]]),
            m.images.path[m.twice[1]], m.images.path[m.twice[0]]);
    for (int64_t i = 0; i < m.images.n; i++)
        if (m.label[i] >= 0)
            pairs_add(p, &(struct pair){
                             .image = pair_path(p, f.images, m.images.path[i]),
                             .label = pair_path(p, f.labels, m.labels.path[m.label[i]])});
    pairs_check_lossy(p);
    warn_of_partners(p, &m, &f);
    file_pairs_release(&m);
    folder_pairs_release(&f);
    strbuf_release(&why);
    free(dir);
    return &p->base;
}

const struct storage storage_pairs = {
    .name = "pairs",
    .help = "images and label maps in separate folders, matched by name: images and "
            "masks (or img, data; labels, annotations, gt), with SPLIT optional as a "
            "parent folder, a subfolder, or a part of the name; or side by side: a.jpg "
            "and a_mask.png (a_label, a_seg, a_gt)",
    .labels = STORAGE_LABEL_MAPS,
    .reads = pairs_reads,
    .probe = pairs_probe,
    .check = pairs_check,
    .open = folder_pairs_open,
};
