/* trainc init: label maps in colors. See cmd/init.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/init.h"
#include "config/dump.h"
#include "config/value.h"
#include "image/label.h"

void init_colors_add(struct init_colors *c, const struct label_reader *r,
                     const char *name)
{
    int64_t n = (int64_t)r->w * r->h;
    int last = -1;

    for (int y = 0; y < r->h; y++) {
        const uint8_t *p = r->rgb.pixel + (size_t)y * r->rgb.stride;

        for (int x = 0; x < r->w; x++, p += 3) {
            uint32_t rgb = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

            if (last < 0 || c->found[last].rgb != rgb) {
                for (last = 0; last < c->n && c->found[last].rgb != rgb;)
                    last++;
                if (last == INIT_COLORS)
                    die("'%s': more than %d colors in the label maps; they were resized "
                        "or "
                        "compressed, or are not label maps",
                        name, INIT_COLORS);
                if (last == c->n)
                    c->found[c->n++] = (struct init_color){.rgb = rgb};
            }
            c->found[last].share += 1.0 / (double)n;
        }
    }
    c->maps++;
}

/* ---- color list files ---- */

static char *color_file(const char *dir)
{
    static const char *const names[] = {"label_colors.txt", "label_colours.txt",
                                        "class_dict.csv",   "class_colors.csv",
                                        "class_colors.txt", "palette.txt"};
    char *path = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !path; i++) {
        path = path_join(dir, names[i]);
        if (file_exists(path) && !file_is_dir(path))
            break;
        free(path);
        path = NULL;
    }
    return path;
}

/* True if the name is a usual one for ignored pixels. */
static bool is_void(const char *name)
{
    static const char *const names[] = {"void",   "unlabeled", "unlabelled",
                                        "ignore", "ignored",   "unknown"};
    bool is = false;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        is = is || !strcasecmp(name, names[i]);
    return is;
}

static void add_class(struct class_colors *dst, uint32_t rgb, const char *name)
{
    GROW(dst->item, dst->n, dst->cap);
    dst->item[dst->n++] = (struct class_color){rgb, xstrdup(name)};
}

static bool has_color(const struct class_colors *c, uint32_t rgb)
{
    for (int i = 0; i < c->n; i++)
        if (c->item[i].rgb == rgb)
            return true;
    return false;
}

static int by_color(const void *a, const void *b)
{
    const struct init_color *x = a, *y = b;

    return x->rgb < y->rgb ? -1 : x->rgb > y->rgb;
}

/* True if all classes have distinct names. */
static bool are_named(const struct class_colors *c)
{
    for (int i = 0; i < c->n; i++) {
        const char *name = c->item[i].name;

        for (const char *cursor = name; *cursor; cursor++)
            if ((unsigned char)*cursor < ' ' || *cursor == 0x7f)
                return false;
        for (int k = 0; k < i; k++)
            if (!strcmp(name, c->item[k].name))
                return false;
        if (!*name)
            return false;
    }
    return true;
}

static void read_file(struct init_colors *c)
{
    struct strbuf why = STRBUF_INIT;
    struct class_colors all;

    if (!class_colors_read(&all, c->file, &why))
        die("%s", why.buf);
    for (int i = 0; i < all.n; i++)
        if (!has_color(&c->classes, all.item[i].rgb) &&
            !has_color(&c->ignored, all.item[i].rgb))
            add_class(is_void(all.item[i].name) ? &c->ignored : &c->classes,
                      all.item[i].rgb, all.item[i].name);
    class_colors_release(&all);
    strbuf_release(&why);
}

void init_colors_find_classes(struct init_colors *c, const char *path, double *share)
{
    char *parent = path_dirname(path);

    qsort(c->found, (size_t)c->n, sizeof(*c->found), by_color);
    c->file = color_file(path);
    if (!c->file)
        c->file = color_file(parent);
    if (c->file)
        read_file(c);
    for (int i = 0; i < c->n; i++) {
        uint32_t rgb = c->found[i].rgb;

        if (!c->file)
            add_class(&c->classes, rgb, "");
        else if (!has_color(&c->classes, rgb) && !has_color(&c->ignored, rgb)) {
            log_warning(
                "'%s' does not list the color #%06x, so %.2f %% of the pixels are "
                "ignored",
                c->file, (unsigned)rgb, 100 * c->found[i].share / c->maps);
            add_class(&c->ignored, rgb, "");
        }
        for (int k = 0; k < c->classes.n; k++)
            if (c->classes.item[k].rgb == rgb)
                share[k] = c->found[i].share / c->maps;
    }
    c->named = are_named(&c->classes);
    free(parent);
}

/* ---- configuration values ---- */

/* Appends "[[128, 64, 128], ...]". */
static void add_colors(struct strbuf *s, const struct class_colors *c)
{
    strbuf_addch(s, '[');
    for (int i = 0; i < c->n; i++)
        strbuf_addf(s, "%s[%d, %d, %d]", i ? ", " : "", (int)(c->item[i].rgb >> 16),
                    (int)(c->item[i].rgb >> 8 & 255), (int)(c->item[i].rgb & 255));
    strbuf_addch(s, ']');
}

char *init_colors_yaml(const struct init_colors *c, enum init_colors_key key)
{
    struct strbuf s = STRBUF_INIT;
    struct arena mem = {0};
    struct value names;

    if (key == INIT_CLASS_COLORS)
        add_colors(&s, &c->classes);
    else if (key == INIT_IGNORED_COLORS && c->ignored.n)
        add_colors(&s, &c->ignored);
    else if (key == INIT_CLASS_NAMES && c->named) {
        names = value_list(&mem, VALUE_LIST, c->classes.n);
        for (int i = 0; i < c->classes.n; i++)
            names.list.item[i] = value_str(&mem, c->classes.item[i].name);
        value_add_yaml(&s, &names);
    }
    arena_release(&mem);
    return s.len ? strbuf_detach(&s) : NULL;
}

static struct str_list texts_of(const struct class_colors *c)
{
    const char **text = xcalloc((size_t)c->n + 1, sizeof(*text));

    for (int i = 0; i < c->n; i++)
        text[i] = xasprintf("#%06x", (unsigned)c->item[i].rgb);
    return (struct str_list){text, c->n};
}

static void free_texts(struct str_list *l)
{
    for (int i = 0; i < l->n; i++)
        free((void *)(uintptr_t)l->item[i]);
    free((void *)(uintptr_t)l->item);
}

const struct class_set *init_colors_set(const struct init_colors *c)
{
    struct str_list colors = texts_of(&c->classes), ignored = texts_of(&c->ignored);
    const char **name = xcalloc((size_t)c->classes.n + 1, sizeof(*name));
    struct str_list names = {name, c->named ? c->classes.n : 0};
    struct strbuf why = STRBUF_INIT;
    const struct class_set *set;

    for (int i = 0; i < c->classes.n; i++)
        name[i] = c->classes.item[i].name;
    set = class_colors_set(&colors, &names, &ignored, "", &why);
    if (!set)
        die("%s: %s", c->file ? c->file : "label maps", why.buf);
    free_texts(&colors);
    free_texts(&ignored);
    free(name);
    strbuf_release(&why);
    return set;
}

void init_colors_release(struct init_colors *c)
{
    class_colors_release(&c->classes);
    class_colors_release(&c->ignored);
    free(c->file);
}
