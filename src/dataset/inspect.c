#include "dataset/inspect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "dataset/label.h"
#include "dataset/read.h"
#include "image/gate.h"

struct inspection {
    const struct dataset *d;
    const struct inspect_options *o;
    struct inspected *found;
    atomic_llong next, done;
    pthread_mutex_t lock; /* protects o->survey */
};

/* Per-thread state, reused. */
struct inspector {
    struct image_decoder *decoder;
    struct image image;
    struct label_reader label;
    struct dataset_bytes bytes;
    struct survey survey; /* of this thread's samples */
};

static int check_label(const struct inspection *s, struct inspector *w, int64_t i,
                       struct inspected *f, struct strbuf *why)
{
    const struct label_reader *l = &w->label;
    int rc = dataset_label_map(s->d, i, &s->o->limits, &w->bytes, &w->label, why);

    if (rc < 0)
        return rc;
    if (l->w != f->w || l->h != f->h) {
        strbuf_addf(why, "it has %d x %d pixels, but its label map has %d x %d", f->w,
                    f->h, l->w, l->h);
        return FAILURE_DATA;
    }
    survey_add(&w->survey, l->pixel, (int64_t)l->w * l->h);
    f->empty = true;
    for (int64_t p = 0; p < (int64_t)l->w * l->h && f->empty; p++)
        f->empty = l->pixel[p] == LABEL_IGNORE;
    return 0;
}

static int inspect_image(const struct inspection *s, struct inspector *w, int64_t i,
                         struct inspected *f, struct strbuf *why)
{
    int rc = dataset_read(s->d, i, s->o->limits.max_bytes, &w->bytes, why);

    if (rc < 0)
        return rc;
    f->content = XXH3_64bits(w->bytes.data, w->bytes.len);
    rc = image_decoder_open(w->decoder, w->bytes.data, w->bytes.len, &f->w, &f->h, why);
    if (rc == 0)
        rc = image_decoder_read(w->decoder, NULL, &w->image, why);
    if (rc == 0 && image_decoder_warning(w->decoder))
        f->warning = xstrdup(image_decoder_warning(w->decoder));
    return rc < 0 || !dataset_has_labels(s->d) ? rc : check_label(s, w, i, f, why);
}

static void inspect_one(const struct inspection *s, struct inspector *w, int64_t i)
{
    struct dataset_retry again = {.pause = DATASET_RETRY_PAUSE};
    struct inspected *f = &s->found[i];
    struct strbuf why = STRBUF_INIT;
    int rc;

    do {
        strbuf_reset(&why);
        free(f->warning);
        *f = (struct inspected){0};
        rc = inspect_image(s, w, i, f, &why);
        image_gate_leave();
    } while (dataset_try_again(&again, rc));
    if (rc == FAILURE_MACHINE)
        die("cannot read the data: %s (tried %d times; the file need not be damaged)",
            why.buf, 1 + DATASET_RETRIES);
    if (rc < 0)
        f->why = strbuf_detach(&why);
    strbuf_release(&why);
}

static void *work(void *arg)
{
    struct inspection *s = arg;
    struct inspector w = {.decoder = image_decoder_new(&s->o->limits)};
    int64_t i;

    while ((i = atomic_fetch_add(&s->next, 1)) < s->d->n) {
        int64_t done;

        inspect_one(s, &w, i);
        done = atomic_fetch_add(&s->done, 1) + 1;
        if (s->o->progress)
            s->o->progress(done, s->d->n, s->o->arg);
    }
    if (s->o->survey) {
        pthread_mutex_lock(&s->lock);
        survey_merge(s->o->survey, &w.survey);
        pthread_mutex_unlock(&s->lock);
    }
    image_decoder_free(w.decoder);
    image_release(&w.image);
    label_reader_release(&w.label);
    dataset_bytes_release(&w.bytes);
    return NULL;
}

struct inspected *inspect(const struct dataset *d, const struct inspect_options *o)
{
    struct inspection s = {.d = d, .o = o, .lock = PTHREAD_MUTEX_INITIALIZER};
    int n = o->threads > 1 ? o->threads - 1 : 0, started = 0;
    pthread_t *thread = xcalloc((size_t)n + 1, sizeof(*thread));

    s.found = xcalloc((size_t)d->n + 1, sizeof(*s.found));
    while (started < n && !pthread_create(&thread[started], NULL, work, &s))
        started++;
    (void)work(&s);
    for (int i = 0; i < started; i++)
        (void)pthread_join(thread[i], NULL);
    free(thread);
    return s.found;
}

void inspect_free(struct inspected *found, int64_t n)
{
    for (int64_t i = 0; found && i < n; i++) {
        free(found[i].why);
        free(found[i].warning);
    }
    free(found);
}
