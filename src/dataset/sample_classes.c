#include "dataset/sample_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strmap.h"
#include "base/utf8.h"
#include "dataset/class_names.h"

/* Number of samples by kind of label. */
struct counts {
    int64_t number, text, remark, none, damaged;
};

static struct counts count(const struct samples *s)
{
    struct counts c = {0};

    for (int64_t i = 0; i < s->base.n; i++) {
        int32_t label = s->sample[i].label;

        c.number += label >= 0;
        c.text += label == SAMPLE_TEXT;
        c.remark += label == SAMPLE_REMARK;
        c.none += label == SAMPLE_NO_LABEL;
        c.damaged += label == SAMPLE_DAMAGED;
    }
    return c;
}

/* Replaces a label by another. */
static void relabel(struct samples *s, int32_t old_label, int32_t new_label)
{
    for (int64_t i = 0; i < s->base.n; i++)
        if (s->sample[i].label == old_label)
            s->sample[i].label = new_label;
}

/* ---- folders ---- */

/* Skips leading "./" and "/". */
static const char *skip_root(const char *name)
{
    for (;;) {
        if (name[0] == '/')
            name++;
        else if (strncmp(name, "./", 2) == 0)
            name += 2;
        else
            return name;
    }
}

/* True if it is the split's name or a common split name. */
static bool is_split(const char *name, size_t n, const char *split)
{
    static const char *const usual[] = {"train",      "training", "val", "valid",
                                        "validation", "test",     "dev"};

    if (split && strlen(split) == n && strncmp(split, name, n) == 0)
        return true;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (strlen(usual[i]) == n && strncmp(usual[i], name, n) == 0)
            return true;
    return false;
}

/* True if all undamaged samples are in folders below `prefix` (n bytes). */
static bool all_below(const struct samples *s, const char *prefix, size_t n)
{
    for (int64_t i = 0; i < s->base.n; i++) {
        const char *name = skip_root(s->sample[i].name);

        if (s->sample[i].label == SAMPLE_DAMAGED)
            continue;
        if (strncmp(name, prefix, n) != 0 || !strchr(name + n, '/'))
            return false;
    }
    return true;
}

/* Returns the length of the split's folder that all names begin with, including its slash
 * ("train/", "imagenet/train/"), or 0. */
static size_t split_folder(const struct samples *s, const char *split)
{
    const char *first = NULL, *cursor, *slash;
    size_t found = 0;

    for (int64_t i = 0; i < s->base.n && !first; i++)
        if (s->sample[i].label != SAMPLE_DAMAGED)
            first = skip_root(s->sample[i].name);
    for (cursor = first; cursor && (slash = strchr(cursor, '/')); cursor = slash + 1) {
        size_t n = (size_t)(slash + 1 - first);

        if (is_split(cursor, (size_t)(slash - cursor), split) && all_below(s, first, n))
            found = n;
    }
    return found;
}

/* Sets the sample's text to the first folder of its name after `skip` bytes. Returns
 * false if it is in no folder. */
static bool set_folder(struct samples *s, struct sample *sample, size_t skip)
{
    const char *name = skip_root(sample->name) + skip, *src = skip_root(name);
    const char *slash = strchr(src, '/');
    char *folder;

    if (!slash)
        return false;
    folder = xstrndup(src, (size_t)(slash - src));
    if (!utf8_valid(folder))
        die("'%s': the class folder of '%s' is not valid UTF-8, so it could not be "
            "stored in checkpoints",
            s->path[sample->file], sample->name);
    sample->label = SAMPLE_TEXT;
    sample->text = arena_strdup(&s->mem, folder);
    free(folder);
    return true;
}

static bool any_in_folder(const struct samples *s)
{
    for (int64_t i = 0; i < s->base.n; i++)
        if (s->sample[i].label != SAMPLE_DAMAGED &&
            strchr(skip_root(s->sample[i].name), '/'))
            return true;
    return false;
}

/* Turns folders into texts and removes samples outside folders. Returns false if all
 * samples are. */
static bool texts_of_folders(struct samples *s, const char *split)
{
    size_t skip = split_folder(s, split);
    bool *drop;

    if (!any_in_folder(s))
        return false;
    relabel(s, SAMPLE_REMARK, SAMPLE_NO_LABEL);
    drop = xcalloc((size_t)s->base.n + 1, sizeof(*drop));
    for (int64_t i = 0; i < s->base.n; i++) {
        struct sample *sample = &s->sample[i];

        drop[i] = sample->label != SAMPLE_DAMAGED && !set_folder(s, sample, skip);
        if (drop[i])
            left_out_add(&s->left, LEFT_BESIDE, &s->mem, sample->name);
    }
    samples_remove(s, 0, drop);
    free(drop);
    return true;
}

/* ---- texts ---- */

/* Replaces texts by indices of d->class_name; marks samples with other texts as
 * damaged. */
static void look_up_texts(struct samples *s)
{
    const struct dataset *d = &s->base;
    struct strmap item = {0};

    for (int c = d->nclass - 1; c >= 0; c--)
        strmap_put(&item, d->class_name[c], (void *)(uintptr_t)(c + 1));
    for (int64_t i = 0; i < d->n; i++) {
        struct sample *dst = &s->sample[i];
        uintptr_t found =
            dst->label == SAMPLE_TEXT ? (uintptr_t)strmap_get(&item, dst->text) : 0;

        if (found)
            dst->label = (int32_t)(found - 1);
        else if (dst->label == SAMPLE_TEXT)
            samples_damage(s, dst, "its class '%s' is not in the data set", dst->text);
    }
    strmap_release(&item);
}

/* Makes the texts the class names, in byte order. */
static void name_by_texts(struct samples *s)
{
    struct dataset *d = &s->base;
    const char **text = xcalloc((size_t)d->n + 1, sizeof(*text));
    int64_t n = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (s->sample[i].label == SAMPLE_TEXT)
            text[n++] = s->sample[i].text;
    class_names_add_sorted(d, text, n);
    free(text);
    look_up_texts(s);
}

/* Converts numbers to texts, for a data set with more texts than numbers. */
static void texts_of_numbers(struct samples *s)
{
    for (int64_t i = 0; i < s->base.n; i++) {
        struct sample *sample = &s->sample[i];
        char text[16];

        if (sample->label < 0)
            continue;
        (void)snprintf(text, sizeof(text), "%d", sample->label);
        sample->label = SAMPLE_TEXT;
        sample->text = arena_strdup(&s->mem, text);
    }
}

/* Ends the program if nearly all texts differ: they are captions. */
static void check_captions(const struct samples *s, const struct counts *c)
{
    const struct dataset *d = &s->base;

    if (c->remark < 8 || d->nclass <= c->remark / 2)
        return;
    die("'%s': the .txt members have %d different texts in %lld samples, so they are not "
        "classes ('%s'): store classes in .cls members, or images in class folders",
        d->name, d->nclass, (long long)c->remark, d->class_name[0]);
}

/* ---- numbers ---- */

/* Subtracts `first` from all class numbers. */
static void count_from(struct samples *s, int first)
{
    for (int64_t i = 0; i < s->base.n; i++) {
        struct sample *sample = &s->sample[i];

        if (sample->label >= 0 && sample->label < first)
            die("'%s: %s' has class %d, but DATA.FIRST_CLASS is %d",
                s->path[sample->file], sample->name, sample->label, first);
        if (sample->label >= 0)
            sample->label -= first;
    }
}

/* Ends the program if samples have no class or an invalid one; names the first of
 * them. */
static void check_labels(const struct samples *s, int counted_from)
{
    const struct dataset *d = &s->base;
    struct strbuf name = STRBUF_INIT;
    int64_t bad = 0, first = -1;

    for (int64_t i = d->n - 1; i >= 0; i--) {
        int32_t label = s->sample[i].label;

        if (label == SAMPLE_DAMAGED || (label >= 0 && label < d->nclass))
            continue;
        bad++;
        first = i;
    }
    if (!bad)
        return;
    dataset_describe(d, first, &name);
    if (s->sample[first].label < 0 && s->sample[first].label_map.len && !s->hint)
        die("'%s' has a label map but no class: use a segmentation model (--model "
            "erfnet)",
            name.buf);
    if (s->sample[first].label < 0)
        die("'%s' has no class (%lld of %lld samples have none)%s%s", name.buf,
            (long long)bad, (long long)d->n, s->hint ? ": " : "", s->hint ? s->hint : "");
    die("'%s': class index %d is out of range: the data set has %d classes, counted from "
        "%d%s",
        name.buf, s->sample[first].label + counted_from, d->nclass, counted_from,
        class_names_advice(d, s->sample[first].label, counted_from));
}

/* Ends the program if no sample has a readable class although samples can be read. */
static void check_all_damaged(const struct samples *s)
{
    const struct dataset *d = &s->base;
    const struct counts c = count(s);
    struct strbuf name = STRBUF_INIT;
    int64_t told = 0;

    for (int64_t i = 0; i < d->n; i++)
        told += s->sample[i].label == SAMPLE_DAMAGED && s->sample[i].text;
    if (told == 0 || c.damaged < d->n)
        return;
    dataset_describe(d, 0, &name);
    die("'%s': no sample of %lld has a class; '%s': %s", d->name, (long long)d->n,
        name.buf, s->sample[0].text ? s->sample[0].text : "damaged");
}

static int32_t largest_label(const struct samples *s)
{
    int32_t largest = 0;

    for (int64_t i = 0; i < s->base.n; i++)
        largest = s->sample[i].label > largest ? s->sample[i].label : largest;
    return largest;
}

/* Assigns classes without classes.txt. */
static void number_or_name(struct samples *s, const struct counts *c,
                           const struct label_options *l, bool folders)
{
    struct dataset *d = &s->base;

    if (c->text && (folders || c->text > c->number)) {
        texts_of_numbers(s);
        name_by_texts(s);
        class_names_warn_first(d, l->first);
        return;
    }
    class_names_add_numbers(d, l->first, l->classes, largest_label(s));
    count_from(s, l->first);
    look_up_texts(s);
}

void sample_classes(struct samples *s, const struct dataset_source *o, const char *dir)
{
    const struct label_options *l = &o->labels;
    struct counts c = count(s), remarks = c;
    bool folders = !c.number && !c.text && texts_of_folders(s, o->split);

    if (!folders)
        relabel(s, SAMPLE_REMARK, SAMPLE_TEXT);
    c = count(s);
    if (class_names_read(&s->base, dir)) {
        count_from(s, l->first);
        look_up_texts(s);
    } else {
        number_or_name(s, &c, l, folders);
        if (!folders && remarks.remark && !remarks.number && !remarks.text)
            check_captions(s, &remarks);
    }
    check_all_damaged(s);
    check_labels(s, l->first);
}
