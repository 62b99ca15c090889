#include "config/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "config/yaml_items.h"

enum { BYTES_MAX = 4 << 20 };

static bool is_empty(const struct yaml_item *top)
{
    return !top || (top->kind == ITEM_SCALAR && !top->quoted && !*top->text);
}

struct cfgnode *yaml_read_text(const char *text, size_t len, const char *name,
                               struct problems *p)
{
    struct yaml_reader r = {.name = name, .text = text, .len = len, .p = p};
    struct cfgnode *root = cfgnode_new();
    struct yaml_item *top = NULL;
    bool ok;

    if (!yaml_parser_initialize(&r.parser))
        die("out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    ok = yaml_compose(&r, &top);
    if (ok && !is_empty(top)) {
        if (top->kind == ITEM_MAP)
            (void)yaml_fill(&r, root, top, 0);
        else
            yaml_fail(&r, top, "a configuration must be a mapping of keys, not a %s",
                      top->kind == ITEM_LIST ? "list" : "single value");
    }
    yaml_parser_delete(&r.parser);
    strmap_release(&r.anchors);
    arena_release(&r.mem);
    if (ok)
        return root;
    cfgnode_free(root);
    return NULL;
}

static bool extension_ok(const char *path, const char *origin, struct problems *p)
{
    static const char *const good[] = {"", ".yaml", ".yml", ".json"};
    const char *ext = path_extension(path);

    for (int i = 0; i < 4; i++)
        if (!strcmp(ext, good[i]))
            return true;
    if (!strcmp(ext, ".py"))
        problems_error(p, origin, "%s: Python configurations cannot be run; write YAML",
                       path);
    else
        problems_error(p, origin,
                       "%s: unknown kind of file '%s' (use .yaml, .yml or .json)", path,
                       ext);
    return false;
}

/* Converts JSON's surrogate pairs (two \u) to YAML's \U. Returns a heap string. */
static char *join_surrogates(char *text, size_t *len)
{
    struct strbuf s = STRBUF_INIT;
    unsigned high, low;

    for (const char *c = text; c < text + *len; c++) {
        bool escape = *c == '\\' && c + 1 < text + *len;

        if (escape && sscanf(c, "\\u%4x\\u%4x", &high, &low) == 2 && high >> 10 == 0x36 &&
            low >> 10 == 0x37) {
            strbuf_addf(&s, "\\U%08x", 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff));
            c += 11;
        } else {
            strbuf_add(&s, c, 1 + (size_t)escape);
            c += escape;
        }
    }
    free(text);
    *len = s.len;
    return strbuf_detach(&s);
}

/* Reports a missing file, and suggests a similar name in its folder. */
static void missing(const char *path, const char *origin, struct problems *p)
{
    char *dir = path_dirname(path);
    const char *base = path_basename(path);
    struct suggest s;
    int n;
    char **name = dir_list(dir, &n);

    suggest_init(&s, base);
    for (int i = 0; i < n; i++)
        if (!strcmp(path_extension(name[i]), path_extension(base)))
            suggest_try(&s, name[i]);
    problems_error(p, origin, "cannot read '%s': %s%s%.*s%s%s", path, strerror(ENOENT),
                   s.best ? " (did you mean " : "", s.best ? (int)(base - path) : 0, path,
                   s.best ? s.best : "", s.best ? "?)" : "");
    dir_list_free(name, n);
    free(dir);
}

struct cfgnode *yaml_read_file(const char *path, const char *origin, struct problems *p)
{
    struct cfgnode *root = NULL;
    size_t len = 0;
    char *text;

    if (!extension_ok(path, origin, p))
        return NULL;
    if (file_is_dir(path)) {
        problems_error(p, origin, "cannot read '%s': it is a directory", path);
        return NULL;
    }
    text = file_read_stream(path, BYTES_MAX, &len);
    if (text && !strcmp(path_extension(path), ".json"))
        text = join_surrogates(text, &len);
    if (text)
        root = yaml_read_text(text, len, path, p);
    else if (errno == ENOENT)
        missing(path, origin, p);
    else if (errno == EFBIG)
        problems_error(p, origin,
                       "'%s' is too large: a configuration file has at most %d bytes",
                       path, BYTES_MAX);
    else
        problems_error(p, origin, "cannot read '%s': %s", path, file_strerror(errno));
    free(text);
    return root;
}
