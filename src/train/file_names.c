#include "train/file_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "train/raw_or_ema.h"

#define EMA "ema." /* prefix of the EMA weights of a checkpoint */

const struct safetensors_tensor *file_names_get(const struct file_names *n,
                                                const char *name)
{
    const struct safetensors_tensor *t;
    char *full;

    if (n->scheme)
        return scheme_names_find(&n->by_scheme, name);
    full = xasprintf("%s%s", n->prefix, name);
    t = weights_file_find(n->file, full);
    free(full);
    return t;
}

const struct safetensors_tensor *file_names_layer(const struct file_names *n,
                                                  const char *layer)
{
    char *bias = xasprintf("%s.bias", layer), *weight = xasprintf("%s.weight", layer);
    const struct safetensors_tensor *t = file_names_get(n, bias);

    if (!t)
        t = file_names_get(n, weight);
    free(bias);
    free(weight);
    return t;
}

static int count_found(const struct file_names *n, const char *const *name, int count)
{
    int found = 0;

    for (int i = 0; i < count; i++)
        found += file_names_get(n, name[i]) != NULL;
    return found;
}

/* Returns the prefix of the file's i-th name if the rest is `first`, the model's first
 * weight; the caller frees it. Returns NULL if it is not, or if the prefix is empty. */
static char *prefix_of(const struct file_names *n, size_t i, const char *first)
{
    const char *name = n->file->tensor[i].name;
    size_t len = strlen(name), end = strlen(first);

    if (len <= end || strcmp(name + len - end, first) != 0 || name[len - end - 1] != '.')
        return NULL;
    return xasprintf("%.*s", (int)(len - end), name);
}

/* Sets the prefix, a wrapper's or any other, with which the file has the most of the
 * model's tensors. Returns their number. */
static int find_prefix(struct file_names *n, const char *const *name, int count)
{
    static const char *const usual[] = {
        EMA, /* first */
        "",          "module.",          "_orig_mod.",
        "features.", "module.features.", "module._orig_mod.",
    };
    const size_t nusual = sizeof(usual) / sizeof(usual[0]);
    char *best = xstrdup("");
    int best_count = 0;

    for (size_t i = raw_is_better(n->file); count && i < nusual + n->file->n; i++) {
        int found;

        n->prefix = i < nusual ? xstrdup(usual[i]) : prefix_of(n, i - nusual, name[0]);
        found = n->prefix ? count_found(n, name, count) : 0;
        if (found > best_count) {
            best_count = found;
            free(best);
            best = n->prefix;
        } else {
            free(n->prefix);
        }
    }
    n->prefix = best;
    return best_count;
}

const char *file_names_find(struct file_names *n, const struct weights_file *file,
                            const char *family, const char *const *name, int count)
{
    int best_count;

    *n = (struct file_names){.file = file};
    best_count = find_prefix(n, name, count);
    for (const struct scheme *s = schemes; s->name; s++) {
        struct file_names other = {.file = file, .scheme = s};
        int found;

        if (strcmp(s->family, family) != 0 || !scheme_marks(s, file->tensor, file->n))
            continue;
        if (scheme_refuses(s, name, count))
            return s->refuse;
        if (s->refuse)
            continue;
        scheme_names_make(&other.by_scheme, s, file->tensor, file->n, name, count);
        found = count_found(&other, name, count);
        /* Prefer a scheme on a tie: it also knows which tensors to ignore. */
        if (found > best_count || (found && found == best_count && !n->scheme)) {
            best_count = found;
            file_names_release(n);
            *n = other;
            n->prefix = xstrdup("");
        } else {
            scheme_names_release(&other.by_scheme);
        }
    }
    return NULL;
}

void file_names_release(struct file_names *n)
{
    free(n->prefix);
    scheme_names_release(&n->by_scheme);
    *n = (struct file_names){0};
}

size_t file_names_index(const struct file_names *n, const struct safetensors_tensor *t)
{
    return n->scheme ? ((const struct scheme_item *)t)->index
                     : (size_t)(t - n->file->tensor);
}

int file_names_read(const struct file_names *n, const struct safetensors_tensor *t,
                    char *data, struct strbuf *why)
{
    const struct safetensors_tensor *whole = &n->file->tensor[file_names_index(n, t)];
    int rc = weights_file_read(n->file, whole, data, why);

    if (!rc && n->scheme && t->offset)
        memmove(data, data + t->offset, t->size);
    return rc;
}

const char *file_names_plain(const struct file_names *n, const char *name)
{
    size_t len = strlen(n->prefix);

    return strncmp(name, n->prefix, len) ? name : name + len;
}

bool file_names_no_bias(const struct file_names *n, const char *const *layer,
                        const char *name)
{
    bool none = false;

    if (!n->scheme) /* with the model's own names, the file is incomplete */
        return false;
    for (; *layer && !none; layer++) {
        char *weight = xasprintf("%s.weight", *layer);
        size_t len = strlen(*layer);

        none = !strncmp(name, *layer, len) && !strcmp(name + len, ".bias") &&
               !file_names_get(n, name) && file_names_get(n, weight);
        free(weight);
    }
    return none;
}

bool file_names_ema(const struct file_names *n)
{
    return !strcmp(n->prefix, EMA);
}

bool file_names_extra(const struct file_names *n, const struct model_family *f,
                      const char *name)
{
    for (const char *const *word = f->computed; word && *word; word++)
        if (strstr(name, *word))
            return true;
    return (n->file->by_trainc &&
            (strncmp(name, EMA, strlen(EMA)) != 0 || !file_names_ema(n))) ||
           (n->scheme && !scheme_keeps(n->scheme, name)) ||
           !strncmp(name, "optimizer.", 10) || !strcmp(name, "n_averaged");
}
