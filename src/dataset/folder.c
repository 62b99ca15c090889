/*
 * DATA.DATASET folder, as torchvision's ImageFolder: SPLIT/CLASS/.../IMAGE at any depth;
 * links are followed. Classes are the folders of SPLIT in byte order, as in torchvision
 * (timm's natural order puts class2 before class10). Samples are sorted by class, then by
 * path in byte order. Images are recognized by their file names (image_has_extension).
 * Hidden entries and those of operating systems (usual_names.h) are skipped; the log
 * reports other skipped files. A class folder without images is an error.
 */
#include "dataset/folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/file_pairs.h"
#include "dataset/folder_index.h"
#include "dataset/folder_pairs.h"
#include "dataset/table.h"
#include "dataset/usual_names.h"
#include "image/image.h"

static char *folder_of(const struct dataset_source *s)
{
    return s->split && *s->split ? path_join(s->path, s->split) : xstrdup(s->path);
}

/* Appends "; it has 'test', 'train'", or nothing. */
static void folder_add_others(struct strbuf *s, const char *dir)
{
    enum { SHOWN = 6 };
    int n, shown = 0;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n && shown < SHOWN; i++) {
        char *path = path_join(dir, name[i]);

        if (!usual_is_system(name[i]) && file_is_dir(path))
            strbuf_addf(s, "%s'%s'", shown++ ? ", " : "; it has ", name[i]);
        free(path);
    }
    if (shown == SHOWN)
        strbuf_addstr(s, ", ...");
    dir_list_free(name, n);
}

/* True if one of the first entries has an image's name or, with `below`, is a folder with
 * such an entry. */
static bool folder_has_image(const char *dir, bool below)
{
    enum { LOOKS = 100 };
    DIR *d = opendir(dir);
    struct dirent *e;
    bool has = false;

    for (int looks = 0; d && !has && looks < LOOKS && (e = readdir(d)); looks++) {
        char *path = path_join(dir, e->d_name);

        if (!usual_is_system(e->d_name))
            has = below ? folder_has_image(path, false) : image_has_extension(e->d_name);
        free(path);
    }
    if (d)
        closedir(d);
    return has;
}

static bool folder_check(const struct dataset_source *s, struct strbuf *why)
{
    char *dir = folder_of(s);
    bool is = file_is_dir(dir);

    if (!is) {
        strbuf_addf(why, "'%s' has no folder '%s'", s->path, s->split);
        folder_add_others(why, s->path);
        if (folder_has_image(s->path, true))
            strbuf_addstr(why, "; if these are classes, set DATA.TRAIN_SPLIT '' and "
                               "DATA.VAL_FRACTION 0.2");
    }
    free(dir);
    return is;
}

/* Folders of images and label maps are not class folders. */
static bool folder_probe(const struct dataset_source *s)
{
    char *dir = folder_of(s);
    bool has = folder_has_image(dir, true) && !folder_pairs_probe(s->path, s->split);

    free(dir);
    return has;
}

/* As classes, label maps would be images to train on. */
static void warn_of_label_maps(const char *dir)
{
    if (file_pairs_are_neighbors(dir))
        log_warning(
            "'%s': label maps next to the images, such as a_mask.png and a.jpg, are "
            "read as images of their class; for segmentation, set DATA.DATASET "
            "pairs",
            dir);
}

static struct dataset *folder_open(const struct dataset_source *s)
{
    bool split = s->split && *s->split;
    struct keep_paths index = {0};
    char *dir = folder_of(s);
    struct folder f = {0};

    for (size_t len = strlen(dir); len > 1 && dir[len - 1] == '/'; len--)
        dir[len - 1] = '\0';
    f.files = class_files_new(dir, dir);
    folder_find_classes(&f);
    warn_of_label_maps(dir);
    if (split)
        index = folder_index_paths(s);
    if (!folder_index_load(&f, index.user) && !folder_index_load(&f, index.data)) {
        folder_find_files(&f);
        folder_index_save(&f, &index);
    }
    free(f.dir);
    keep_paths_release(&index);
    free(dir);
    return &f.files->base;
}

const struct storage storage_folder = {
    .name = "folder",
    .alias = {"imagenet"}, /* Swin's name */
    .help = "a folder for each class: SPLIT/CLASS/.../IMAGE",
    .labels = STORAGE_CLASSES,
    .stand_in = "synth shapes --size 224 --train 640 --val 160",
    .probe = folder_probe,
    .check = folder_check,
    .open = folder_open,
};
