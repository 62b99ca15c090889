#include "dataset/file_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strmap.h"
#include "dataset/dataset.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* Adds images in byte order; `deep`: also those of subfolders. */
static void list_files(struct file_names *f, const char *root, const char *below,
                       bool deep, int depth)
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

static void files_release(struct file_names *f)
{
    for (int64_t i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
}

/* Returns the path without its extension; `stem`: without its usual suffix, too. */
static char *key_of(const char *path, bool stem)
{
    char *dir, *name, *key;

    if (!stem)
        return xstrndup(path, strlen(path) - strlen(path_extension(path)));
    dir = path_dirname(path);
    name = usual_stem(path, NULL);
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

static void match_names(struct file_pairs *m)
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

/* Moves the files whose names say that they are label maps from images to labels. */
static void separate_labels(struct file_pairs *m)
{
    int64_t n = m->images.n;

    m->images.n = 0;
    for (int64_t i = 0; i < n; i++) {
        char *path = m->images.path[i];
        enum usual_role role;

        free(usual_stem(path, &role));
        if (role == USUAL_LABELS) {
            GROW(m->labels.path, m->labels.n, m->labels.cap);
            m->labels.path[m->labels.n++] = path;
        } else {
            m->images.path[m->images.n++] = path;
        }
    }
}

void file_pairs_match(struct file_pairs *m, const char *images, const char *labels,
                      bool deep)
{
    *m = (struct file_pairs){0};
    list_files(&m->images, images, "", deep, 1);
    if (labels)
        list_files(&m->labels, labels, "", deep, 1);
    else
        separate_labels(m);
    match_names(m);
}

/* Looks for label maps next to images: *folders counts down the folders of images that are
 * examined. */
static bool has_neighbors(const char *dir, int *folders, int depth)
{
    enum { DEPTH = 3, FILES = 4 /* per label map, at most */ };
    struct file_pairs m = {0};
    bool is = false;
    int n;
    char **name;

    list_files(&m.images, dir, "", false, 1);
    separate_labels(&m);
    match_names(&m);
    is = m.n && FILES * m.n >= m.images.n + m.labels.n && 2 * m.n >= m.labels.n;
    *folders -= m.images.n + m.labels.n > 0;
    file_pairs_release(&m);
    name = dir_list(dir, &n);
    for (int i = 0; i < n && !is && *folders > 0 && depth < DEPTH; i++) {
        char *below = path_join(dir, name[i]);

        if (!usual_is_system(name[i]) && !image_has_extension(name[i]) &&
            file_is_dir(below))
            is = has_neighbors(below, folders, depth + 1);
        free(below);
    }
    dir_list_free(name, n);
    return is;
}

bool file_pairs_are_neighbors(const char *dir)
{
    int folders = 8;

    return has_neighbors(dir, &folders, 0);
}

void file_pairs_release(struct file_pairs *m)
{
    files_release(&m->images);
    files_release(&m->labels);
    free(m->label);
    free(m->image);
}
