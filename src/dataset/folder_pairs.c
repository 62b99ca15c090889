/*
 * DATA.DATASET pairs: images in one folder, label maps in another. folder_pairs.h finds
 * the folders; files are matched by their path without extension (a.jpg and a.png) or by
 * usual_stem() (a_img.jpg and a_mask.png). Samples are in byte order of the image paths.
 * Files without a partner are skipped and counted in the log.
 */
#include "dataset/folder_pairs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
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
    struct candidate at[FOLDERS];
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
        struct candidate *at = &c->at[c->n];
        char *path, *full;

        if (e->d_type == DT_REG || usual_is_system(e->d_name))
            continue;
        path = *below ? path_join(below, e->d_name) : xstrdup(e->d_name);
        full = path_join(c->root, path);
        if (usual_words_parse(path, &at->words) && (at->words.role || at->words.split) &&
            file_is_dir(full)) {
            at->path = path;
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
        add_candidates(c, c->at[i].path);
    qsort(c->at, (size_t)c->n, sizeof(*c->at), by_path);
    return c;
}

static void candidates_free(struct candidates *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->at[i].path);
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

/* ---- the files ---- */

struct files {
    char **path; /* relative to their folder */
    int64_t n;
    size_t cap;
};

/* Adds images in byte order; `deep`: also those of subfolders. */
static void list_files(struct files *f, const char *root, const char *below, bool deep,
                       int depth)
{
    char *dir = *below ? path_join(root, below) : xstrdup(root);
    int n;
    char **name = dir_list(dir, &n);

    dataset_check_depth(dir, depth);
    for (int i = 0; i < n; i++) {
        char *path = *below ? path_join(below, name[i]) : xstrdup(name[i]);

        if (!usual_is_system(name[i]) && image_has_extension(name[i])) {
            GROW(f->path, f->n, f->cap);
            f->path[f->n++] = path;
            continue;
        }
        if (!usual_is_system(name[i]) && deep) {
            char *full = path_join(root, path);

            if (file_is_dir(full))
                list_files(f, root, path, deep, depth + 1);
            free(full);
        }
        free(path);
    }
    dir_list_free(name, n);
    free(dir);
}

static void files_release(struct files *f)
{
    for (int64_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
}

/* The images and label maps of two folders, and how they are paired. */
struct match {
    struct files images, labels;
    int64_t *label; /* index of each image's label map, or -1 */
    int64_t *image; /* index of each label map's image, or -1 */
    int64_t n;
    int64_t twice[2]; /* two images with the same label map, or -1 */
};

/* Returns the path without its extension; `stem`: without its usual suffix, too. */
static char *key_of(const char *path, bool stem)
{
    char *dir, *name, *key;

    if (!stem)
        return xstrndup(path, strlen(path) - strlen(path_extension(path)));
    dir = path_dirname(path);
    name = usual_stem(path);
    key = path_join(dir, name);
    free(dir);
    free(name);
    return key;
}

static void *find_label(const struct strmap *exact, const struct strmap *stems,
                        const char *image)
{
    char *key = key_of(image, false), *stem = key_of(image, true);
    void *label = strmap_get(exact, key);

    if (!label)
        label = strmap_get(stems, stem);
    free(key);
    free(stem);
    return label;
}

static void match_names(struct match *m)
{
    struct strmap exact = {0}, stems = {0};

    m->twice[0] = -1;
    m->label = xcalloc((size_t)m->images.n + 1, sizeof(*m->label));
    m->image = xcalloc((size_t)m->labels.n + 1, sizeof(*m->image));
    for (int64_t i = m->labels.n - 1; i >= 0; i--) { /* of equal names, the first wins */
        char *key = key_of(m->labels.path[i], false);
        char *stem = key_of(m->labels.path[i], true);

        m->image[i] = -1;
        strmap_put(&exact, key, &m->labels.path[i]);
        strmap_put(&stems, stem, &m->labels.path[i]);
        free(key);
        free(stem);
    }
    for (int64_t i = 0; i < m->images.n; i++) {
        char **label = find_label(&exact, &stems, m->images.path[i]);

        m->label[i] = label ? label - m->labels.path : -1;
        if (!label)
            continue;
        if (m->image[m->label[i]] >= 0)
            memcpy(m->twice, (int64_t[]){i, m->image[m->label[i]]}, sizeof(m->twice));
        m->image[m->label[i]] = i;
        m->n++;
    }
    strmap_release(&exact);
    strmap_release(&stems);
}

static void match_folders(struct match *m, const char *root, const char *images,
                          const char *labels, bool deep)
{
    char *image_dir = path_join(root, images), *label_dir = path_join(root, labels);

    *m = (struct match){0};
    list_files(&m->images, image_dir, "", deep, 1);
    list_files(&m->labels, label_dir, "", deep, 1);
    match_names(m);
    free(image_dir);
    free(label_dir);
}

static void match_release(struct match *m)
{
    files_release(&m->images);
    files_release(&m->labels);
    free(m->label);
    free(m->image);
}

/* True if the images of subfolders belong to the folder: not for "train", which may have
 * its own images apart from train/images. */
static bool is_deep(const char *images)
{
    struct usual_words w;

    return usual_words_parse(images, &w) && w.role == USUAL_IMAGES;
}

bool folder_pairs_find(struct folder_pairs *f, const char *root, const char *split)
{
    struct candidates *c = candidates_of(root);

    *f = (struct folder_pairs){0};
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->n; k++) {
            const char *images = c->at[i].path, *labels = c->at[k].path;
            struct match m;

            if (!is_folder_pair(&c->at[i], &c->at[k], split))
                continue;
            match_folders(&m, root, images, labels, is_deep(images));
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
            match_release(&m);
        }
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
    struct match m;
    int64_t n;

    match_folders(&m, root, images, labels, true);
    n = m.n;
    match_release(&m);
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

    for (int i = 0; i < c->n && !is; i++)
        for (int k = 0; k < c->n && !is; k++)
            is = is_folder_pair(&c->at[i], &c->at[k], split ? split : "") &&
                 has_image(root, c->at[i].path, 0) && has_image(root, c->at[k].path, 0);
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
                    "images and masks",
                    s->path, *split_of(s) ? " for the split '" : "", split_of(s),
                    *split_of(s) ? "'" : "");
    return is;
}

static void warn_of_partners(const struct pairs *p, const struct match *m,
                             const struct folder_pairs *f)
{
    const char *image = "", *label = "";

    for (int64_t i = m->images.n - 1; i >= 0; i--)
        image = m->label[i] < 0 ? m->images.path[i] : image;
    for (int64_t i = m->labels.n - 1; i >= 0; i--)
        label = m->image[i] < 0 ? m->labels.path[i] : label;
    if (m->n < m->images.n)
        log_warning("'%s/%s': skipping images without a label map in %s (%lld of %lld), "
                    "such as '%s'",
                    p->root, f->images, f->labels, (long long)(m->images.n - m->n),
                    (long long)m->images.n, image);
    if (m->n < m->labels.n)
        log_warning("'%s/%s': skipping label maps without an image in %s (%lld of %lld), "
                    "such as '%s'",
                    p->root, f->labels, f->images, (long long)(m->labels.n - m->n),
                    (long long)m->labels.n, label);
}

static struct dataset *folder_pairs_open(const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;
    struct folder_pairs f;
    struct match m;
    struct pairs *p;
    char *dir;

    if (!pairs_check(s, &why))
        die("%s", why.buf);
    if (!folder_pairs_find(&f, s->path, split_of(s)))
        die("'%s': no image of the split '%s' has a label map with a matching name",
            s->path, split_of(s));
    dir = path_join(s->path, f.images);
    p = pairs_new(s, dir);
    match_folders(&m, s->path, f.images, f.labels, is_deep(f.images));
    if (m.twice[0] >= 0)
        die("'%s': the label map '%s/%s' matches two images by name: '%s' and '%s'",
            s->path, f.labels, m.labels.path[m.label[m.twice[0]]],
            m.images.path[m.twice[1]], m.images.path[m.twice[0]]);
    for (int64_t i = 0; i < m.images.n; i++)
        if (m.label[i] >= 0)
            pairs_add(p,
                      &(struct pair){.image = arena_printf(&p->mem, "%s/%s", f.images,
                                                           m.images.path[i]),
                                     .label = arena_printf(&p->mem, "%s/%s", f.labels,
                                                           m.labels.path[m.label[i]])});
    pairs_check_lossy(p);
    warn_of_partners(p, &m, &f);
    match_release(&m);
    folder_pairs_release(&f);
    strbuf_release(&why);
    free(dir);
    return &p->base;
}

const struct storage storage_pairs = {
    .name = "pairs",
    .help = "images and label maps in separate folders, matched by name: images and "
            "masks (or img, data; labels, annotations, gt), with SPLIT optional as a "
            "parent folder, a subfolder, or a part of the name",
    .labels = STORAGE_LABEL_MAPS,
    .reads = pairs_reads,
    .probe = pairs_probe,
    .check = pairs_check,
    .open = folder_pairs_open,
};
