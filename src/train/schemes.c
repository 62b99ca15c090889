#include "train/schemes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

enum { NUMBERS = 8, PARTS = 3 };

/* Returns the end of the match of `src` at `s`, and adds the positions of its numbers.
 * Returns NULL if it does not match. */
static const char *match_here(const char *src, const char *s, const char **number, int *n)
{
    for (; *src; src++) {
        size_t digits = strspn(s, "0123456789");

        if (*src == '$')
            return *s ? NULL : s;
        if (*src == '#') {
            if (!digits || *n >= NUMBERS)
                return NULL;
            number[(*n)++] = s;
            s += digits;
        } else if (*src == *s) {
            s++;
        } else {
            return NULL;
        }
    }
    return s;
}

/* Applies the row to `text` if it matches. */
static void apply_row(const struct scheme_row *row, struct strbuf *text)
{
    bool start = *row->pattern == '^';
    struct strbuf out = STRBUF_INIT;

    for (const char *s = text->buf; *s; s++) {
        const char *number[NUMBERS], *end;
        int n = 0, used = 0;

        end = match_here(row->pattern + start, s, number, &n);
        if (!end && start)
            break;
        if (!end)
            continue;
        strbuf_addf(&out, "%.*s", (int)(s - text->buf), text->buf);
        for (const char *dst = row->replacement; *dst; dst++)
            if (*dst == '#' && used < n) {
                strbuf_addf(&out, "%.*s", (int)strspn(number[used], "0123456789"),
                            number[used]);
                used++;
            } else {
                strbuf_addch(&out, *dst);
            }
        strbuf_addstr(&out, end);
        strbuf_reset(text);
        strbuf_addstr(text, out.buf);
        break;
    }
    strbuf_release(&out);
}

static bool drops(const struct scheme_row *row, const char *name)
{
    bool start = *row->pattern == '^';
    const char *number[NUMBERS];

    for (const char *s = name; !row->replacement && *s; s++) {
        int n = 0;

        if (match_here(row->pattern + start, s, number, &n))
            return true;
        if (start)
            break;
    }
    return false;
}

/* Skips the prefixes of module wrappers. */
static const char *unwrapped(const char *name)
{
    static const char *const wrapper[] = {"module.", "_orig_mod.", "model.", "module."};

    for (int i = 0; i < 4; i++)
        if (!strncmp(name, wrapper[i], strlen(wrapper[i])))
            name += strlen(wrapper[i]);
    return name;
}

bool scheme_keeps(const struct scheme *s, const char *name)
{
    name = unwrapped(name);
    if (s->only && strncmp(name, s->only, strlen(s->only)) != 0)
        return false;
    for (const struct scheme_row *row = s->row; row->pattern; row++)
        if (drops(row, name))
            return false;
    return true;
}

static void add_item(struct scheme_names *names, struct scheme_item item,
                     const char *name, size_t len)
{
    if (!len)
        return;
    item.t.name = xasprintf("%.*s", (int)len, name);
    names->item[names->n++] = item;
}

static bool cuts_evenly(const struct safetensors_tensor *t, int parts)
{
    return t->ndim > 0 && t->dims[0] % parts == 0;
}

/* Adds the parts of a tensor: for "attn.q_bias,,v_bias", attn.q_bias and attn.v_bias, the
 * first and last of three parts. */
static void add_parts(struct scheme_names *names, struct scheme_item item,
                      const char *text)
{
    size_t first = strcspn(text, ","), stem = first;
    struct strbuf name = STRBUF_INIT;
    int parts = 1;

    while (stem && text[stem - 1] != '.')
        stem--;
    for (const char *c = strchr(text, ','); c; c = strchr(c + 1, ','))
        parts++;
    if (parts > 1 && cuts_evenly(&item.t, parts)) {
        item.t.dims[0] /= parts;
        item.t.size /= (uint64_t)parts;
    }
    add_item(names, item, text, first);
    text += first;
    for (int i = 1; i < parts; i++) {
        size_t len = strcspn(++text, ",");

        strbuf_reset(&name);
        if (len)
            strbuf_addf(&name, "%.*s%.*s", (int)stem, names->item[names->n - 1].t.name,
                        (int)len, text);
        item.t.offset = (uint64_t)i * item.t.size;
        add_item(names, item, name.buf, name.len);
        text += len;
    }
    strbuf_release(&name);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && !strcmp(name + n - m, end);
}

bool scheme_marks(const struct scheme *s, const struct safetensors_tensor *tensor,
                  size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(unwrapped(tensor[i].name), s->mark))
            return true;
        else if (s->refuse && ends_with(tensor[i].name, s->mark))
            return true;
    return false;
}

static bool any_ends_with(const char *const *name, int count, const char *end)
{
    for (int i = 0; i < count; i++)
        if (ends_with(name[i], end))
            return true;
    return false;
}

bool scheme_refuses(const struct scheme *s, const char *const *model, int count)
{
    if (!s->refuse ||
        (s->accepts_suffix && any_ends_with(model, count, s->accepts_suffix)))
        return false;
    return !s->refuses_suffix || any_ends_with(model, count, s->refuses_suffix);
}

/* Returns the length of "blocks.1.2." at the start of a name, or 0. */
static size_t block_prefix(const char *name)
{
    static const char word[] = "blocks.";
    size_t len = strlen(word);

    if (strncmp(name, word, len) != 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        size_t digits = strspn(name + len, "0123456789");

        if (!digits || name[len + digits] != '.')
            return 0;
        len += digits + 1;
    }
    return len;
}

/* Returns the model's name of a tensor in its block k, or NULL. The names of buffers may
 * follow those of all parameters. */
static const char *name_in_block(const char *const *model, int count, long k)
{
    const char *first = NULL, *last = NULL;

    for (int i = 0; i < count && k >= 0; i++) {
        size_t len = block_prefix(model[i]);

        if (!len || (last && !strncmp(last, model[i], len)))
            continue;
        if (first && !strncmp(first, model[i], len))
            return NULL;
        last = model[i];
        first = first ? first : last;
        k--;
    }
    return k < 0 ? last : NULL;
}

/* Replaces the number of a block in `text` with that of its stage and that within it. */
static void place_block(const struct scheme *s, const char *const *model, int count,
                        struct strbuf *text)
{
    size_t prefix = strlen(s->blocks);
    const char *name;
    char *end, *rest;
    long k;

    if (strncmp(text->buf, s->blocks, prefix) != 0)
        return;
    k = strtol(text->buf + prefix, &end, 10) - s->first_block;
    name = k < 0 || *end != '.' ? NULL : name_in_block(model, count, k);
    if (!name)
        return;
    rest = xstrdup(end + 1);
    strbuf_reset(text);
    strbuf_addf(text, "%.*s%s", (int)block_prefix(name), name, rest);
    free(rest);
}

/* [C,1,1] or [1,1,1,C] becomes [C]. */
static void cut_ones(struct safetensors_tensor *t)
{
    bool first = t->ndim == 3 && t->dims[1] == 1 && t->dims[2] == 1;
    bool last = t->ndim == 4 && t->dims[0] == 1 && t->dims[1] == 1 && t->dims[2] == 1;

    if (last)
        t->dims[0] = t->dims[3];
    if (first || last)
        t->ndim = 1;
}

void scheme_names_make(struct scheme_names *names, const struct scheme *s,
                       const struct safetensors_tensor *tensor, size_t n,
                       const char *const *model, int count)
{
    struct strbuf text = STRBUF_INIT;

    names->item = xcalloc(n * PARTS + 1, sizeof(*names->item));
    for (size_t i = 0; i < n; i++) {
        struct scheme_item item;

        if (!scheme_keeps(s, tensor[i].name))
            continue;
        strbuf_reset(&text);
        strbuf_addstr(&text, unwrapped(tensor[i].name));
        if (s->blocks)
            place_block(s, model, count, &text);
        for (const struct scheme_row *row = s->row; row->pattern; row++)
            if (row->replacement)
                apply_row(row, &text);
        item = (struct scheme_item){.t = tensor[i], .index = i};
        item.t.offset = 0;
        if (s->cut_ones)
            cut_ones(&item.t);
        add_parts(names, item, text.buf);
    }
    for (size_t i = 0; i < names->n; i++)
        strmap_put(&names->index, names->item[i].t.name, &names->item[i]);
    strbuf_release(&text);
}

const struct safetensors_tensor *scheme_names_find(const struct scheme_names *names,
                                                   const char *name)
{
    const struct scheme_item *item = strmap_get(&names->index, name);

    return item ? &item->t : NULL;
}

void scheme_names_release(struct scheme_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->item[i].t.name);
    free(names->item);
    strmap_release(&names->index);
    *names = (struct scheme_names){0};
}
