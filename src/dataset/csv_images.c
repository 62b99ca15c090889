#include "dataset/csv_images.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/usual_names.h"

/* How many of the first rows' images lie at folder/CELL + ending. */
static int count_images(const struct csv_images *c, const char *folder,
                        const char *ending)
{
    enum { LOOKS = 20 };
    int found = 0;

    for (int64_t i = 0; i < c->table->rows && i < LOOKS; i++) {
        char *name = xasprintf("%s%s", text_table_cell(c->table, i, c->column), ending);
        char *path = path_join(folder, name);

        found += *name && file_exists(path) && !file_is_dir(path);
        free(name);
        free(path);
    }
    return found;
}

static const char *const image_endings[] = {"",      ".jpg",  ".jpeg", ".png",
                                            ".JPG",  ".JPEG", ".PNG",  ".tif",
                                            ".tiff", ".webp", ".bmp"};
enum { ENDINGS = sizeof(image_endings) / sizeof(image_endings[0]) };

/* The ending with most images below `folder`, and their number. */
static int best_ending(const struct csv_images *c, const char *folder,
                       const char **ending)
{
    int best = 0;

    for (int e = 0; e < ENDINGS; e++) {
        int found = count_images(c, folder, image_endings[e]);

        if (found > best) {
            best = found;
            *ending = image_endings[e];
        }
    }
    return best;
}

/* The best folder of those that were tried. */
struct best {
    char *folder;
    const char *ending;
    int images;
};

static void try_folder(struct best *b, const struct csv_images *c, const char *below)
{
    char *folder = *below ? path_join(c->dir, below) : xstrdup(c->dir);
    const char *ending = "";
    int images = file_is_dir(folder) ? best_ending(c, folder, &ending) : 0;

    if (images <= b->images) {
        free(folder);
        return;
    }
    free(b->folder);
    *b = (struct best){folder, ending, images};
}

static void try_all_folders(struct best *b, const struct csv_images *c)
{
    enum { MAX_FOLDERS = 64 };
    int n;
    char **name = dir_list(c->dir, &n);

    for (int i = 0; i < n && i < MAX_FOLDERS; i++)
        if (!usual_is_system(name[i]))
            try_folder(b, c, name[i]);
    dir_list_free(name, n);
}

char *csv_images_find(const struct csv_images *c, const char **ending)
{
    const char *const usual[] = {
        "",     c->split, "images",       "image",       "img",
        "imgs", "train",  "train_images", "data",        "photos",
        "jpg",  "jpeg",   "images/train", "train/images"};
    bool named = c->folder && *c->folder;
    struct best b = {0};

    if (named)
        try_folder(&b, c, c->folder);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && !named; i++)
        try_folder(&b, c, usual[i]);
    if (!b.images && !named)
        try_all_folders(&b, c);
    if (b.images)
        *ending = b.ending;
    return b.folder;
}
