/* Adds images to a page: the worst of a classifier, or label maps of a segmentation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/encode.h"
#include "image/image.h"
#include "page/html.h"
#include "page/page.h"

enum { MAX_IMAGES = 12 /* images of a kind */, QUALITY = 85 /* of JPEGs */ };

/* Adds a JPEG file with a caption. Returns false if it cannot be read. */
static bool add_file(struct strbuf *s, const char *path, const char *caption)
{
    size_t len;
    char *bytes = file_read(path, &len);

    if (!bytes)
        return false;
    strbuf_addstr(s, "<figure><img alt=\"");
    html_add(s, caption);
    strbuf_addstr(s, "\" ");
    html_add_data(s, "image/jpeg", bytes, len);
    strbuf_addstr(s, "><figcaption class=\"small\">");
    html_add(s, caption);
    strbuf_addstr(s, "</figcaption></figure>\n");
    free(bytes);
    return true;
}

/* Adds the rows of worst.csv with their images (worst_00.jpg, ...); returns their
 * number. */
static int add_worst(struct strbuf *s, const struct page_run *r)
{
    const struct table *t = &r->worst;
    int label = table_column(t, "label"), answer = table_column(t, "answer");
    int loss = table_column(t, "loss"), name = table_column(t, "image"), n = 0;

    for (int i = 1; i < t->rows && i <= MAX_IMAGES; i++) {
        char *path = xasprintf("%s/report/worst_%02d.jpg", r->dir, i - 1);
        char *caption = xasprintf("%s: %s, predicted %s, loss %s", table_cell(t, i, name),
                                  table_cell(t, i, label), table_cell(t, i, answer),
                                  table_cell(t, i, loss));

        n += add_file(s, path, caption);
        free(path);
        free(caption);
    }
    return n;
}

/* Adds a PNG as a JPEG, which is about ten times smaller. Returns false if it cannot be
 * read. */
static bool add_png(struct strbuf *s, const char *path, const char *caption)
{
    struct image_decoder *d = image_decoder_new(NULL);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len, size;
    char *bytes = file_read(path, &len);
    int w, h;
    bool good = bytes && image_decoder_open(d, bytes, len, &w, &h, &why) == 0 &&
                image_decoder_read(d, NULL, &img, &why) == 0;

    if (good) {
        unsigned char *jpeg = jpeg_encode(img.pixel, img.w, img.h, QUALITY, &size);

        strbuf_addstr(s, "<figure><img alt=\"");
        html_add(s, caption);
        strbuf_addstr(s, "\" ");
        html_add_data(s, "image/jpeg", jpeg, size);
        strbuf_addstr(s, "><figcaption class=\"small\">");
        html_add(s, caption);
        strbuf_addstr(s, "</figcaption></figure>\n");
        free(jpeg);
    }
    image_release(&img);
    image_decoder_free(d);
    strbuf_release(&why);
    free(bytes);
    return good;
}

static const char epoch_prefix[] = "epoch";

/* Returns the last epoch with files such as epoch003_0.png, or -1. */
static long last_epoch(char *const *name, int n)
{
    long last = -1;

    for (int i = 0; i < n; i++) {
        char *end;
        long epoch;

        if (strncmp(name[i], epoch_prefix, strlen(epoch_prefix)) != 0)
            continue;
        epoch = strtol(name[i] + strlen(epoch_prefix), &end, 10);
        last = *end == '_' && epoch > last ? epoch : last;
    }
    return last;
}

static int add_label_maps(struct strbuf *s, const struct page_run *r)
{
    char *dir = path_join(r->dir, "images"), start[32];
    int n, shown = 0;
    char **name = dir_list(dir, &n);
    long epoch = last_epoch(name, n);

    (void)snprintf(start, sizeof(start), "epoch%03ld_", epoch);
    for (int i = 0; epoch >= 0 && i < n && shown < MAX_IMAGES; i++) {
        char *path = path_join(dir, name[i]);

        if (!strncmp(name[i], start, strlen(start)))
            shown += add_png(s, path, name[i]);
        free(path);
    }
    dir_list_free(name, n);
    free(dir);
    return shown;
}

void page_add_images(struct strbuf *s, const struct page_run *r)
{
    struct strbuf worst = STRBUF_INIT, maps = STRBUF_INIT;

    if (add_worst(&worst, r)) {
        html_section(s, "images", "Worst images");
        strbuf_addf(s,
                    "<p class=\"dim\">The images with the largest loss, as input to the "
                    "model.</p><div class=\"images worst\">%s</div>\n",
                    worst.buf);
    }
    if (add_label_maps(&maps, r)) {
        html_section(s, "images", "Label maps");
        strbuf_addf(s,
                    "<p class=\"dim\">Image, ground truth, and prediction.</p><div "
                    "class=\"images\">%s</div>\n",
                    maps.buf);
    }
    strbuf_release(&worst);
    strbuf_release(&maps);
}
