#include "dataset/class_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/list_file.h"

static void add(struct dataset *d, const char *name, size_t *cap)
{
    GROW(d->class_name, d->nclass, *cap);
    d->class_name[d->nclass++] = xstrdup(name);
}

bool class_names_read(struct dataset *d, const char *dir)
{
    struct list_file l;
    size_t cap = 0;
    bool is = list_file_read(&l, dir, "classes.txt");

    for (int i = 0; is && i < l.n; i++)
        add(d, l.line[i].text, &cap);
    if (is && d->nclass == 0)
        die("'%s' names no classes", l.path);
    list_file_release(&l);
    return is;
}

void class_names_add_numbers(struct dataset *d, int first, int n, int32_t largest)
{
    enum { MAX_CLASSES = 1 << 24 }; /* as MODEL.NUM_CLASSES; a larger index is bad data */
    size_t cap = 0;

    if (!n && largest < MAX_CLASSES)
        n = largest + 1 - first;
    for (int c = 0; c < n; c++) {
        char *name = xasprintf("%d", first + c);

        add(d, name, &cap);
        free(name);
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void class_names_add_sorted(struct dataset *d, const char *const *name, int64_t n)
{
    const char **sorted = xcalloc((size_t)(n ? n : 1), sizeof(*sorted));
    size_t cap = 0;

    memcpy(sorted, name, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), compare);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i - 1], sorted[i]) != 0)
            add(d, sorted[i], &cap);
    free(sorted);
}

int32_t class_names_find(const struct dataset *d, const char *name)
{
    char **ptr = d->nclass ? bsearch(&name, d->class_name, (size_t)d->nclass,
                                     sizeof(name), compare)
                           : NULL;

    return ptr ? (int32_t)(ptr - d->class_name) : -1;
}

void class_names_warn_first(const struct dataset *d, int first)
{
    if (first)
        log_warning("DATA.FIRST_CLASS has no effect: the classes of '%s' have names",
                    d->name);
}

const char *class_names_advice(const struct dataset *d, int32_t label, int first)
{
    if (label == d->nclass && first == 0)
        return " (set the number in classes.txt or MODEL.NUM_CLASSES; set "
               "DATA.FIRST_CLASS 1 if classes count from 1)";
    return " (set the number in classes.txt or MODEL.NUM_CLASSES)";
}

void class_names_free(struct dataset *d)
{
    for (int c = 0; c < d->nclass; c++)
        free(d->class_name[c]);
    free(d->class_name);
}
