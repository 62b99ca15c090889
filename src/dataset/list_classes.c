#include "dataset/list_classes.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/class_files.h"
#include "dataset/class_names.h"
#include "dataset/list_file.h"
#include "image/image.h"

/* A list while it is being read. Strings are in `mem` or `text`. */
struct class_list {
    char *path; /* of the list file */
    struct class_list_row {
        const char *image, *name; /* name: class name; NULL: the list has numbers */
        int32_t label;
        int line; /* for messages: line or JSON element, from 1 */
    } * row;
    int64_t n;
    size_t cap;
    struct arena mem;
    char *text;
};

/* Returns the list's file name relative to the root, a heap string, or NULL if there is
 * no list. */
static char *class_list_find(const struct dataset_source *s)
{
    static const char *const affix[][2] = {
        {"", ".txt"}, {"ILSVRC2011fall_whole_map_", ".txt"}, {"", ".json"}, {"", ""}};

    for (size_t i = 0; i < sizeof(affix) / sizeof(affix[0]); i++) {
        char *name = xasprintf("%s%s%s", affix[i][0], s->split, affix[i][1]);
        char *path = path_join(s->path, name);
        bool is = *name && file_exists(path) && !file_is_dir(path);

        free(path);
        if (is)
            return name;
        free(name);
    }
    return NULL;
}

/* Cuts the line at the first tab or, without one, at the last space. Returns the part
 * after it, or NULL if either part is empty. */
static char *class_list_cut(char *line)
{
    char *separator = strchr(line, '\t'), *label, *end;

    if (!separator)
        for (char *p = line; *p; p++)
            if (*p == ' ')
                separator = p;
    if (!separator)
        return NULL;
    label = separator + 1 + strspn(separator + 1, " ");
    for (end = separator; end > line && strchr(" \t", end[-1]); end--)
        ;
    *end = '\0';
    label[strcspn(label, "\t")] = '\0';
    return *label && *line ? label : NULL;
}

static bool is_number(const char *text, int32_t *v)
{
    uint64_t number;
    bool good = checked_number(&text, INT32_MAX, &number) && *text == '\0';

    *v = good ? (int32_t)number : 0;
    return good;
}

static void class_list_add(struct class_list *l, struct class_list_row row)
{
    GROW(l->row, l->n, l->cap);
    l->row[l->n++] = row;
}

static void class_list_read_text(struct class_list *l, const char *root, const char *name)
{
    struct list_file file;

    if (!list_file_read(&file, root, name))
        die("cannot read '%s': %s", l->path, file_strerror(errno));
    for (int i = 0; i < file.n; i++) {
        struct line *line = &file.line[i];
        const char *label = class_list_cut(line->text);
        struct class_list_row row = {line->text, label, 0, line->number};

        if (!label)
            list_file_refuse(l->path, line, "image class");
        if (is_number(label, &row.label))
            row.name = NULL;
        class_list_add(l, row);
    }
    l->text = file.text;
    file.text = NULL;
    list_file_release(&file);
}

/* Adds the next JSON element, [image, class, ...]. */
static void class_list_add_json(struct class_list *l, const json_t *item)
{
    const char *image = json_string_value(json_array_get(item, 0));
    const json_t *label = json_array_get(item, 1);
    json_int_t v = json_integer_value(label);
    const char *name = json_string_value(label);

    if (!image || (!name && !json_is_integer(label)) || v < 0 || v > INT32_MAX)
        die("%s: element %lld is not [image, class]", l->path, (long long)l->n + 1);
    class_list_add(l, (struct class_list_row){arena_strdup(&l->mem, image),
                                              name ? arena_strdup(&l->mem, name) : NULL,
                                              (int32_t)v, (int)l->n + 1});
}

/* Parses one element at a time: 14 million of them as a tree would take gigabytes. */
static void class_list_read_json(struct class_list *l)
{
    size_t len = 0, pos;
    char *text = file_read(l->path, &len);

    if (!text)
        die("cannot read '%s': %s", l->path, file_strerror(errno));
    pos = strspn(text, " \t\r\n") + 1;
    for (;;) {
        json_error_t e;
        json_t *item;

        pos += strspn(text + pos, " \t\r\n,");
        if (pos >= len || text[pos] == ']')
            break;
        item = json_loadb(text + pos, len - pos, JSON_DISABLE_EOF_CHECK, &e);
        if (!item)
            die("%s: element %lld: %s", l->path, (long long)l->n + 1, e.text);
        class_list_add_json(l, item);
        json_decref(item);
        pos += (size_t)e.position;
    }
    if (pos >= len)
        die("%s: truncated after element %lld", l->path, (long long)l->n);
    free(text);
}

static bool starts_with_bracket(const char *path)
{
    FILE *f = file_open(path);
    int c = ' ';

    while (f && c != EOF && isspace(c))
        c = fgetc(f);
    if (f)
        fclose(f);
    return c == '[';
}

/* Ends the program if the classes are label maps, or a mixture of names and numbers. */
static void class_list_check(const struct class_list *l)
{
    if (l->n == 0)
        die("'%s' names no images", l->path);
    if (l->row[0].name && image_has_extension(l->row[0].name))
        die("%s:%d: expected a class, but '%s' is a label map: use this list with a "
            "segmentation model or trainc pack --label-maps",
            l->path, l->row[0].line, l->row[0].name);
    for (int64_t i = 0; i < l->n; i++)
        if (!l->row[i].name != !l->row[0].name)
            die("%s:%d: the class is %s, and that of the first image %s", l->path,
                l->row[i].line, l->row[i].name ? "a name" : "a number",
                l->row[i].name ? "a number" : "a name");
}

/* Sets labels from class names. `listed`: the names are in classes.txt; otherwise the
 * sorted names are the classes. */
static void class_list_number(struct class_list *l, struct dataset *d, bool listed)
{
    struct strmap map = {0};
    const char **name;

    if (!listed) {
        name = xcalloc((size_t)l->n, sizeof(*name));
        for (int64_t i = 0; i < l->n; i++)
            name[i] = l->row[i].name;
        class_names_add_sorted(d, name, l->n);
        free(name);
    }
    for (int c = 0; c < d->nclass; c++)
        strmap_put(&map, d->class_name[c], (void *)(uintptr_t)(c + 1));
    for (int64_t i = 0; i < l->n; i++) {
        uintptr_t c = (uintptr_t)strmap_get(&map, l->row[i].name);

        if (c == 0)
            die("%s:%d: class '%s' is not in classes.txt", l->path, l->row[i].line, l->row[i].name);
        l->row[i].label = (int32_t)c - 1;
    }
    strmap_release(&map);
}

/* Returns the largest class index of a list with numbers. */
static int32_t class_list_largest(const struct class_list *l)
{
    int32_t largest = 0;

    for (int64_t i = 0; i < l->n; i++)
        largest = l->row[i].label > largest ? l->row[i].label : largest;
    return largest;
}

static void class_list_name(struct class_list *l, struct dataset *d,
                            const struct dataset_source *s)
{
    bool listed = class_names_read(d, s->path);

    if (l->row[0].name) {
        class_list_number(l, d, listed);
        class_names_warn_first(d, s->labels.first);
        return;
    }
    if (!listed)
        class_names_add_numbers(d, s->labels.first, s->labels.classes, class_list_largest(l));
    for (int64_t i = 0; i < l->n; i++) {
        int32_t number = l->row[i].label;

        l->row[i].label -= s->labels.first;
        if (l->row[i].label < 0 || l->row[i].label >= d->nclass)
            die("%s:%d: class index %d is out of range: the data set has %d classes, "
                "counted from %d%s",
                l->path, l->row[i].line, number, d->nclass, s->labels.first,
                class_names_advice(d, l->row[i].label, s->labels.first));
    }
}

/* True if one of the first 100 images exists below `root`. */
static bool class_list_lies_in(const struct class_list *l, const char *root)
{
    enum { LOOKS = 100 };
    bool is = false;

    for (int64_t i = 0; !is && i < l->n && i < LOOKS; i++) {
        char *path = path_join(root, l->row[i].image);

        is = file_exists(path);
        free(path);
    }
    return is;
}

/* Returns the folder that the list's paths are relative to, a heap string: the root, or
 * the split's folder in it. */
static char *class_list_root(const struct class_list *l, const struct dataset_source *s)
{
    char *split = path_join(s->path, s->split);

    if (!class_list_lies_in(l, s->path)) {
        if (!class_list_lies_in(l, split))
            die("%s:%d: file '%s/%s' not found, also not in '%s'", l->path, l->row[0].line,
                s->path, l->row[0].image, split);
        log_info("'%s': reading images from '%s'", l->path, split);
        return split;
    }
    free(split);
    return xstrdup(s->path);
}

bool list_classes_check(const struct dataset_source *s, struct strbuf *why)
{
    char *name = class_list_find(s);
    bool is = name != NULL;

    if (!is)
        strbuf_addf(why,
                    "no list in '%s': expected %s.txt, ILSVRC2011fall_whole_map_%s.txt, "
                    "or %s.json",
                    s->path, s->split, s->split, s->split);
    free(name);
    return is;
}

/* True if the first line with data is "image class" or, in JSON, starts with ["image",
 * ...]. */
static bool line_has_class(FILE *f)
{
    char line[4096] = "", *label;

    while (fgets(line, sizeof(line), f) && (*line == '#' || *line == '\n'))
        *line = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (*line == '[')
        return strstr(line, "[\"") != NULL;
    label = class_list_cut(line);
    return label && image_has_extension(line) && !image_has_extension(label);
}

bool list_classes_probe(const struct dataset_source *s)
{
    char *name = class_list_find(s), *path = name ? path_join(s->path, name) : NULL;
    FILE *f = path ? file_open(path) : NULL;
    bool is = f && line_has_class(f);

    if (f)
        fclose(f);
    free(name);
    free(path);
    return is;
}

struct dataset *list_classes_open(const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;
    struct class_list l = {0};
    char *name = class_list_find(s), *root;
    struct class_files *f;

    if (!name) {
        (void)list_classes_check(s, &why);
        die("%s", why.buf);
    }
    l.path = path_join(s->path, name);
    if (starts_with_bracket(l.path))
        class_list_read_json(&l);
    else
        class_list_read_text(&l, s->path, name);
    class_list_check(&l);
    root = class_list_root(&l, s);
    f = class_files_new(root, l.path);
    f->mem = l.mem;
    f->text = l.text;
    class_list_name(&l, &f->base, s);
    for (int64_t i = 0; i < l.n; i++)
        class_files_add(f, l.row[i].image, l.row[i].label);
    free(l.row);
    free(l.path);
    free(name);
    free(root);
    return &f->base;
}
