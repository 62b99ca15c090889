#include "cmd/images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/dataset.h"
#include "dataset/usual_names.h"
#include "image/image.h"
#include "io/written.h"

/* True if a file found in a folder is an input image. Skips images that trainc wrote, and
 * pipes, which might never end. */
static bool is_input_image(const char *path)
{
    struct stat st;

    if (!image_has_extension(path) || written_is(path, WRITTEN_IMAGE))
        return false;
    if (stat(path, &st) || S_ISREG(st.st_mode)) /* the loader reports a missing file */
        return true;
    log_warning("skipping '%s': not a regular file", path);
    return false;
}

static void add_file(struct images *im, const char *path, size_t root)
{
    char *copy = xstrdup(path);

    if (im->n == im->cap) {
        im->cap = 2 * im->cap + 16;
        im->path = xrealloc(im->path, (size_t)im->cap * sizeof(*im->path));
        im->name = xrealloc(im->name, (size_t)im->cap * sizeof(*im->name));
    }
    im->path[im->n] = copy;
    im->name[im->n++] = root ? copy + root : path_basename(copy);
}

/* root: number of leading bytes of the path that the name leaves out. */
static void add_path(struct images *im, const char *path, size_t root, int depth)
{
    bool folder = file_is_dir(path);
    int all = 0, n;
    char **name = folder ? dir_list(path, &all) : NULL;

    n = all;
    if (n < 0)
        die("cannot open '%s': %s", path, strerror(errno));
    dataset_check_depth(path, depth);
    if (folder && root && im->out && file_same(path, im->out)) /* the output folder */
        n = 0;
    for (int i = 0; i < n; i++) {
        char *below = path_join(path, name[i]);

        if (!usual_is_system(name[i]))
            add_path(im, below, root ? root : strlen(below) - strlen(name[i]), depth + 1);
        free(below);
    }
    if (!folder && (!root || is_input_image(path)))
        add_file(im, path, root);
    dir_list_free(name, all);
}

_Noreturn static void no_images(const char *folder)
{
    struct strbuf known = STRBUF_INIT;

    image_add_extensions(&known);
    usage("no images found in '%s': no file name ends in %s", folder, known.buf);
}

void images_add(struct images *im, const char *path)
{
    int n = im->n;

    add_path(im, path, 0, 0);
    if (im->n == n)
        no_images(path);
}

void images_of_args(struct images *im, const struct cmdline *line)
{
    for (int i = 0; i < line->narg; i++)
        images_add(im, line->arg[i].text);
}

void images_release(struct images *im)
{
    for (int i = 0; i < im->n; i++)
        free(im->path[i]);
    free(im->path);
    free(im->name);
    *im = (struct images){0};
}

void images_check(const struct cmdline *line, struct problems *p)
{
    if (!line->narg)
        problems_error(p, NULL, "no images: name image files or folders");
    for (int i = 0; i < line->narg; i++)
        if (!file_exists(line->arg[i].text))
            problems_error(p, NULL, "there is no file '%s'", line->arg[i].text);
}
