#include "train/job_data.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "dataset/table.h"
#include "dataset/usual_names.h"
#include "dist/launch.h"
#include "image/image.h"
#include "session/devices.h"
#include "train/data_config.h"

enum { LOOKS = 64, MAX_BYTES = 256 << 20 };

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* True if all pixels are gray, as in scans and renderings of glyphs. */
static bool is_gray(const struct image *img)
{
    for (int y = 0; y < img->h; y++) {
        const uint8_t *p = img->pixel + (size_t)y * img->stride;

        for (int x = 0; x < img->w; x++, p += 3)
            if (p[0] != p[1] || p[1] != p[2])
                return false;
    }
    return true;
}

/* Sets job->side, uniform, and glyphs from up to LOOKS evenly spaced images. Reads their
 * headers, and the pixels only to check for color. */
static void look_at_images(struct job *job, const struct dataset *d)
{
    struct image_decoder *decoder = image_decoder_new(NULL);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    int64_t n = d->n < LOOKS ? d->n : LOOKS;
    struct image img = {0};
    int side[LOOKS], looked = 0;

    job->glyphs = job_are_glyphs(d);
    job->uniform = true;
    for (int64_t i = 0; i < n; i++) {
        int w, h;

        if (dataset_read(d, i * d->n / n, MAX_BYTES, &bytes, &why) < 0 ||
            image_decoder_open(decoder, bytes.data, bytes.len, &w, &h, &why) < 0)
            continue;
        if (job->glyphs && image_decoder_read(decoder, NULL, &img, &why) == 0)
            job->glyphs = is_gray(&img);
        side[looked] = w < h ? w : h;
        job->uniform = job->uniform && w == h && w == side[0];
        looked++;
    }
    qsort(side, (size_t)looked, sizeof(*side), by_number);
    job->side = looked ? side[looked / 2] : 0;
    job->uniform = job->uniform && looked;
    strbuf_release(&why);
    dataset_bytes_release(&bytes);
    image_release(&img);
    image_decoder_free(decoder);
}

bool job_are_glyphs(const struct dataset *d)
{
    for (int c = 0; c < d->nclass; c++) {
        const char *name = d->class_name[c];

        if (name[strspn(name, "0123456789")] &&
            !(isalpha((unsigned char)*name) && !name[1]))
            return false;
    }
    return d->nclass > 0;
}

/* True if the training split exists, so that opening it does not die because it is
 * missing. */
static bool is_there(const struct config *cfg)
{
    struct problems p = {0};
    bool there = *cfg->data.data_path && storage_find(cfg->data.dataset);

    if (there)
        data_check_split(cfg, DATA_TRAIN, &p);
    there = there && !p.nerror;
    problems_release(&p);
    return there;
}

/* The number of folders in a data set that are named like a split. */
static int split_folders(const char *path)
{
    int n, found = 0;
    char **name = dir_list(path, &n);

    for (int i = 0; i < n; i++) {
        char *dir = path_join(path, name[i]);
        struct usual_words w;

        found += usual_words_parse(name[i], &w) && w.split && file_is_dir(dir);
        free(dir);
    }
    dir_list_free(name, n);
    return found;
}

/* True if DATA.DATA_PATH holds class folders, and none named like a split. */
static bool has_class_folders(const struct config *cfg, const struct storage *row)
{
    struct dataset_source s = {.path = cfg->data.data_path, .split = ""};

    return !split_folders(cfg->data.data_path) && row->probe(&s);
}

double job_val_fraction(int64_t images)
{
    enum { MANY = 2000, FEWEST = 10 };

    return images < FEWEST ? 0 : images < MANY ? 0.2 : 0.1;
}

void job_preset_splits(struct config *cfg)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    struct strbuf fraction = STRBUF_INIT;
    struct dataset *d;
    int splits;

    if (config_is_given(cfg, "DATA.TRAIN_SPLIT") ||
        config_is_given(cfg, "DATA.VAL_SPLIT") || !job_decides(cfg) || !row ||
        strcmp(row->name, "folder") != 0 || !file_is_dir(cfg->data.data_path))
        return;
    splits = split_folders(cfg->data.data_path);
    if (has_class_folders(cfg, row))
        config_preset(cfg, "DATA.TRAIN_SPLIT", "",
                      CONFIG_JOB_ORIGIN "one folder per class, no splits");
    else if (splits != 1 || !is_there(cfg))
        return;
    if (config_is_given(cfg, "DATA.VAL_FRACTION") || config_is_given(cfg, "DATA.FOLD"))
        return;
    log_mute(true);
    d = data_open(cfg, DATA_TRAIN);
    strbuf_addf(&fraction, "%g", job_val_fraction(d->n));
    dataset_close(d);
    log_mute(false);
    config_preset(cfg, "DATA.VAL_FRACTION", fraction.buf,
                  CONFIG_JOB_ORIGIN
                  "no validation split: uses this fraction of each class");
    strbuf_release(&fraction);
}

struct job job_look(const struct config *cfg)
{
    const struct storage *row = storage_find(cfg->data.dataset);
    struct dist_launch l = dist_launched();
    struct job job = {.world = l.world > 1 ? l.world : device_count(cfg)};
    struct dataset *d;

    if (row && row->generated) {
        job.images = cfg->data.train_num_samples;
        return job;
    }
    if (!is_there(cfg))
        return job;
    log_mute(true); /* the run itself logs the same lines later */
    d = data_open(cfg, DATA_TRAIN);
    job.images = d->n;
    if (!dataset_has_labels(d)) {
        look_at_images(&job, d);
    }
    dataset_close(d);
    log_mute(false);
    return job;
}
