#include "dataset/class_colors.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/utf8.h"
#include "image/label.h"

static const char separators[] = " \t,;";

/* Reads three numbers of at most 255 and moves *text past them. */
static bool parse_numbers(const char **text, uint32_t *rgb)
{
    const char *cursor = *text;
    uint32_t all = 0;

    for (int k = 0; k < 3; k++) {
        unsigned v = 0;
        int digits = 0;

        cursor += strspn(cursor, separators);
        for (; isdigit((unsigned char)*cursor) && digits < 4; digits++)
            v = 10 * v + (unsigned)(*cursor++ - '0');
        if (!digits || v > 255 || (*cursor && !strchr(separators, *cursor)))
            return false;
        all = all << 8 | v;
    }
    *rgb = all;
    *text = cursor;
    return true;
}

bool class_color_parse(const char *text, uint32_t *rgb)
{
    if (*text == '#') {
        if (strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
            return false;
        *rgb = (uint32_t)strtoul(text + 1, NULL, 16);
        return true;
    }
    return parse_numbers(&text, rgb) && !text[strspn(text, separators)];
}

/* ---- files ---- */

static void add_color(struct class_colors *c, uint32_t rgb, const char *name, size_t n)
{
    while (n && strchr(separators, name[n - 1]))
        n--;
    GROW(c->item, c->n, c->cap);
    c->item[c->n++] = (struct class_color){rgb, xstrndup(name, n)};
}

/* Parses "64 128 64 Animal" or "Animal,64,128,64". */
static bool parse_line(struct class_colors *c, const char *line)
{
    const char *cursor = line + strspn(line, separators), *start = cursor;
    uint32_t rgb;

    if (parse_numbers(&cursor, &rgb)) {
        cursor += strspn(cursor, separators);
        add_color(c, rgb, cursor, strlen(cursor));
        return true;
    }
    for (cursor = start; *cursor; cursor++) {
        const char *numbers = cursor;

        if (strchr(separators, *cursor) && parse_numbers(&numbers, &rgb) &&
            !numbers[strspn(numbers, separators)]) {
            add_color(c, rgb, start, (size_t)(cursor - start));
            return true;
        }
    }
    return false;
}

bool class_colors_read(struct class_colors *c, const char *path, struct strbuf *why)
{
    char *text = file_read(path, NULL), *rest = text, *line;

    *c = (struct class_colors){0};
    if (!text)
        strbuf_addf(why, "cannot read '%s': %s", path, strerror(errno));
    for (int n = 1; !why->len && (line = strsep(&rest, "\n")); n++) {
        line[strcspn(line, "\r")] = '\0';
        if (!line[strspn(line, " \t")] || (*line == '#' && n > 1))
            continue;
        /* The first line may be a header. */
        if (!utf8_valid(line) || (!parse_line(c, line) && n > 1))
            strbuf_addf(why, "'%s:%d': expected a color such as '64 128 64 Animal'", path,
                        n);
    }
    if (!why->len && !c->n)
        strbuf_addf(why, "'%s' has no colors", path);
    free(text);
    if (why->len)
        class_colors_release(c);
    return !why->len;
}

void class_colors_release(struct class_colors *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->item[i].name);
    free(c->item);
    *c = (struct class_colors){0};
}

/* ---- sets ---- */

static void list_colors(struct class_colors *c, const struct str_list *colors,
                        const char *dir, struct strbuf *why)
{
    uint32_t rgb;

    if (colors->n == 1 && !class_color_parse(colors->item[0], &rgb)) {
        char *path = *colors->item[0] == '/' ? xstrdup(colors->item[0])
                                             : path_join(dir, colors->item[0]);

        (void)class_colors_read(c, path, why);
        free(path);
        return;
    }
    for (int i = 0; i < colors->n && !why->len; i++)
        if (class_color_parse(colors->item[i], &rgb))
            add_color(c, rgb, "", 0);
        else
            strbuf_addf(why,
                        "item %d is not a color such as '#804080' or [128, 64, 128]: "
                        "'%s'",
                        i, colors->item[i]);
}

static void add_value(struct label_colors *dst, uint32_t rgb, int value,
                      struct strbuf *why)
{
    for (int i = 0; i < dst->n && !why->len; i++)
        if (dst->item[i].rgb == rgb)
            strbuf_addf(why, "duplicate color #%06x", (unsigned)rgb);
    dst->item[dst->n++] = (struct label_color){rgb, (uint8_t)value};
}

static struct label_colors *values_of(const struct class_colors *c,
                                      const struct str_list *ignored, struct strbuf *why)
{
    struct label_colors *dst = xcalloc(1, sizeof(*dst));

    dst->item = xcalloc((size_t)(c->n + ignored->n) + 1, sizeof(*dst->item));
    for (int i = 0; i < c->n; i++)
        add_value(dst, c->item[i].rgb, i, why);
    for (int i = 0; i < ignored->n && !why->len; i++) {
        uint32_t rgb;

        if (!strcmp(ignored->item[i], "others"))
            dst->others = true;
        else if (class_color_parse(ignored->item[i], &rgb))
            add_value(dst, rgb, LABEL_IGNORE, why);
        else
            strbuf_addf(why,
                        "DATA.IGNORED_COLORS: item %d must be a color such as '#804080', "
                        "or 'others': '%s'",
                        i, ignored->item[i]);
    }
    label_colors_sort(dst);
    return dst;
}

/* Returns the key of a set. Each set is created once. */
static char *key_of(const struct str_list *colors, const struct str_list *names,
                    const struct str_list *ignored, const char *dir)
{
    const struct str_list *list[] = {colors, names, ignored};
    struct strbuf s = STRBUF_INIT;

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < list[k]->n; i++)
            strbuf_addf(&s, "%s\n", list[k]->item[i]);
        strbuf_addch(&s, '\f');
    }
    strbuf_addstr(&s, dir);
    return strbuf_detach(&s);
}

static struct class_set *make_set(const struct class_colors *c,
                                  const struct str_list *names,
                                  const struct label_colors *values)
{
    struct class_set *s = xcalloc(1, sizeof(*s));
    struct class_row *row = xcalloc((size_t)c->n + 1, sizeof(*row));

    for (int i = 0; i < c->n; i++) {
        uint32_t rgb = c->item[i].rgb;

        row[i].name = names->n == c->n   ? xstrdup(names->item[i])
                      : *c->item[i].name ? xstrdup(c->item[i].name)
                                         : xasprintf("class%d", i);
        row[i].value = i;
        row[i].rgb[0] = (uint8_t)(rgb >> 16);
        row[i].rgb[1] = (uint8_t)(rgb >> 8);
        row[i].rgb[2] = (uint8_t)rgb;
    }
    s->name = "DATA.CLASS_COLORS";
    s->n = c->n;
    s->row = row;
    s->last = c->n - 1;
    s->colors = values;
    return s;
}

const struct class_set *class_colors_set(const struct str_list *colors,
                                         const struct str_list *names,
                                         const struct str_list *ignored, const char *dir,
                                         struct strbuf *why)
{
    static struct made {
        char *key;
        const struct class_set *set;
        struct made *next;
    } * made;
    char *key = key_of(colors, names, ignored, dir);
    struct class_colors c = {0};
    struct label_colors *values = NULL;
    struct made *m = made;

    while (m && strcmp(m->key, key) != 0)
        m = m->next;
    if (m) {
        free(key);
        return m->set;
    }
    list_colors(&c, colors, dir, why);
    if (!why->len && c.n > LABEL_CLASSES)
        strbuf_addf(why, "%d colors, but at most %d classes are supported", c.n,
                    LABEL_CLASSES);
    if (!why->len)
        values = values_of(&c, ignored, why);
    if (!why->len) {
        m = xcalloc(1, sizeof(*m));
        *m = (struct made){key, make_set(&c, names, values), made};
        made = m;
    } else {
        free(key);
        free(values ? values->item : NULL);
        free(values);
    }
    class_colors_release(&c);
    return why->len ? NULL : m->set;
}
