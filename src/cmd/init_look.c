#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/log.h"
#include "cmd/init.h"
#include "dataset/label.h"
#include "image/image.h"
#include "train/job_data.h"

enum { MAX_IMAGES = 300, MAX_BYTES = 256 << 20 };

/* State of the inspection. */
struct inspection {
    const struct dataset *d;
    struct image_decoder *decoder;
    struct image_limits limits;
    struct image image;
    struct dataset_bytes bytes;
    struct label_reader label;
    int w[MAX_IMAGES], h[MAX_IMAGES];
    bool colors;
    int64_t maps, unread; /* label maps of values; unreadable label maps */
};

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

/* Adds the colors of a label map. Returns false if it cannot be read as colors. */
static bool inspect_colors(struct init_facts *f, struct inspection *k, int64_t i)
{
    struct strbuf why = STRBUF_INIT, name = STRBUF_INIT;
    bool is = dataset_read_label(k->d, i, MAX_BYTES, &k->bytes, &why) == 0 &&
              label_decode_colors(&k->label, k->bytes.data, k->bytes.len, &k->limits,
                                  &why) == 0;

    if (is) {
        dataset_describe_label(k->d, i, &name);
        init_colors_add(&f->colors, &k->label, name.buf);
    }
    strbuf_release(&name);
    strbuf_release(&why);
    return is;
}

static void inspect_label_map(struct init_facts *f, struct inspection *k, int64_t i)
{
    struct strbuf why = STRBUF_INIT;
    int64_t n;

    if (f->colors.maps && inspect_colors(f, k, i))
        return;
    if (dataset_label_map(k->d, i, &k->limits, &k->bytes, &k->label, &why) < 0) {
        bool colors = !k->maps && inspect_colors(f, k, i);

        if (!colors && !k->unread++)
            log_warning("%s", why.buf);
        strbuf_release(&why);
        return;
    }
    k->maps++;
    n = (int64_t)k->label.w * k->label.h;
    for (int64_t p = 0; p < n; p++)
        f->share[k->label.pixel[p]] += 1.0 / (double)n;
    strbuf_release(&why);
}

static void inspect_image(struct init_facts *f, struct inspection *k, int64_t i)
{
    struct strbuf why = STRBUF_INIT, name = STRBUF_INIT;
    int w, h;

    if (dataset_read(k->d, i, MAX_BYTES, &k->bytes, &why) == 0 &&
        image_decoder_open(k->decoder, k->bytes.data, k->bytes.len, &w, &h, &why) == 0 &&
        image_decoder_read(k->decoder, NULL, &k->image, &why) == 0) {
        k->w[f->looked] = w;
        k->h[f->looked++] = h;
        k->colors = k->colors || !is_gray(&k->image);
        f->shortest = f->looked == 1 || w < f->shortest ? w : f->shortest;
        f->shortest = h < f->shortest ? h : f->shortest;
    } else {
        dataset_describe(k->d, i, &name);
        log_warning("'%s': %s", name.buf, why.buf);
    }
    strbuf_release(&name);
    strbuf_release(&why);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int median_int(int *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_number);
    return v[n / 2];
}

/* Inspects up to LOOKS images, evenly spaced. */
static void inspect_images(struct init_facts *f, const struct init_layout *l,
                           const struct dataset *d)
{
    struct inspection *k = xcalloc(1, sizeof(*k));
    int64_t n = d->n < MAX_IMAGES ? d->n : MAX_IMAGES;

    k->d = d;
    k->limits = image_limits_or_default(NULL);
    k->decoder = image_decoder_new(NULL);
    for (int64_t i = 0; i < n; i++) {
        inspect_image(f, k, i * d->n / n);
        if (l->label_maps)
            inspect_label_map(f, k, i * d->n / n);
    }
    if (k->unread > 1)
        log_warning("%lld of %lld inspected label maps are unreadable or hold no classes",
                    (long long)k->unread, (long long)n);
    if (l->label_maps && !k->maps && !f->colors.maps)
        die("'%s': all %lld inspected label maps are unreadable", l->path, (long long)n);
    if (!f->looked)
        die("'%s': all %lld inspected images are unreadable", l->path, (long long)n);
    f->gray = !k->colors;
    f->uniform = true;
    for (int i = 0; i < f->looked; i++)
        f->uniform = f->uniform && k->w[i] == k->w[0] && k->h[i] == k->w[0];
    for (int i = 0; i < f->looked; i++)
        f->bytes += 3.0 * k->w[i] * k->h[i] * (double)d->n / f->looked;
    f->width = median_int(k->w, f->looked);
    f->height = median_int(k->h, f->looked);
    image_decoder_free(k->decoder);
    image_release(&k->image);
    dataset_bytes_release(&k->bytes);
    label_reader_release(&k->label);
    free(k);
}

static void count_classes(struct init_facts *f, const struct dataset *d, bool sets)
{
    int64_t *count = xcalloc((size_t)d->nclass, sizeof(*count));
    int smallest = 0, largest = 0;

    for (int64_t i = 0; i < d->n; i++)
        count[dataset_label(d, i)]++;
    for (int c = 1; c < d->nclass; c++) {
        smallest = count[c] < count[smallest] ? c : smallest;
        largest = count[c] > count[largest] ? c : largest;
    }
    f->classes = d->nclass;
    if (sets) { /* images have any number of them */
        free(count);
        return;
    }
    f->glyphs = f->gray && job_are_glyphs(d);
    f->smallest = count[smallest];
    f->largest = count[largest];
    f->smallest_name = xstrdup(d->class_name[smallest]);
    f->largest_name = xstrdup(d->class_name[largest]);
    free(count);
}

static void count_colors(struct init_facts *f, const struct init_layout *l)
{
    init_colors_find_classes(&f->colors, l->path, f->share);
    f->classes = f->colors.classes.n;
    f->top = f->classes - 1;
    if (!f->classes)
        die("'%s': no color in the inspected label maps is a class", l->path);
}

static void count_values(struct init_facts *f)
{
    double sum = 0;

    f->top = -1;
    f->has_ignored = f->share[LABEL_IGNORE] > 0;
    for (int v = 0; v < LABEL_IGNORE; v++) {
        sum += f->share[v];
        f->top = f->share[v] > 0 ? v : f->top;
    }
    if (f->top == 0 && f->has_ignored) { /* masks of 0 and 255 */
        f->binary = true;
        f->has_ignored = false;
        f->top = 1;
        sum += f->share[1] = f->share[LABEL_IGNORE];
    }
    for (int v = 0; v < LABEL_IGNORE; v++)
        f->share[v] /= sum > 0 ? sum : 1;
    if (f->top < 0)
        die("every pixel of the inspected label maps is ignored (255)");
    f->classes = f->top + 1;
}

/* Recognizes a published data set by the path of its first image. */
static void find_set(struct init_facts *f, const struct dataset *d)
{
    struct strbuf path = STRBUF_INIT;

    dataset_describe(d, 0, &path);
    f->set = class_set_of_files(path.buf, f->top);
    strbuf_release(&path);
}

/* Holds out images for validation. */
static void split_validation(struct init_facts *f)
{
    int64_t all = f->train;

    f->val_fraction = job_val_fraction(all);
    f->val = (int64_t)((double)all * f->val_fraction + 0.5);
    f->train = all - f->val;
}

void init_look(struct init_facts *f, const struct init_layout *l)
{
    int classes = l->label_maps ? LABEL_CLASSES : 0;
    struct dataset_source s = init_source(l, l->train, classes);
    struct dataset *d = l->storage->open(&s);

    *f = (struct init_facts){.train = d->n};
    if (!d->n)
        die("'%s' has no images", l->path);
    inspect_images(f, l, d);
    if (f->colors.maps)
        count_colors(f, l);
    else if (l->label_maps)
        count_values(f);
    else
        count_classes(f, d, l->label_sets || l->values);
    if (l->label_maps && !f->colors.maps)
        find_set(f, d);
    dataset_close(d);
    if (!l->val) {
        split_validation(f);
        return;
    }
    s = init_source(l, l->val, classes);
    d = l->storage->open(&s);
    f->val = d->n;
    dataset_close(d);
}

void init_facts_release(struct init_facts *f)
{
    init_colors_release(&f->colors);
    free(f->smallest_name);
    free(f->largest_name);
}
