#include "config_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/literal.h"
#include "config/yaml.h"

/* Texts that Python would read as something else become that: (1, 2), None. */
static void decode_leaves(struct cfgnode *n)
{
    for (int i = 0; i < n->n; i++) {
        struct cfgnode_entry *e = &n->entry[i];

        if (e->node)
            decode_leaves(e->node);
        else if (e->value.type == VALUE_STR && !e->value.quoted)
            e->value = literal_parse(n->mem, e->value.s);
        e->decl = decl_of(&e->value);
        e->where = NULL;
    }
}

struct cfgnode *support_tree(const char *yaml)
{
    struct problems p = {0};
    struct cfgnode *n = yaml_read_text(yaml, strlen(yaml), "fixture", &p);

    assert_non_null(n);
    assert_int_equal(p.n, 0);
    decode_leaves(n);
    return n;
}

bool support_merge_list(struct cfgnode *n, const char *pairs, struct problems *p)
{
    struct arena mem = {0};
    char *text = xstrdup(pairs);
    struct value item[32];
    int len = 0;
    bool ok;

    for (char *pair = text, *next; pair && *pair; pair = next) {
        char *eq = strchr(pair, '=');

        next = strchr(pair, '|');
        if (next)
            *next++ = '\0';
        if (eq)
            *eq = '\0';
        item[len++] = value_str(&mem, pair);
        if (!eq)
            continue;
        item[len] = value_str(&mem, eq + 1);
        item[len].text = item[len].s;
        len++;
    }
    ok = cfgnode_merge_list(n, item, len, p);
    free(text);
    arena_release(&mem);
    return ok;
}

bool support_merge_yaml(struct cfgnode *n, const char *yaml, struct problems *p)
{
    int before = p->nerror;
    struct cfgnode *from = yaml_read_text(yaml, strlen(yaml), "f.yaml", p);
    bool ok = from && p->nerror == before && cfgnode_merge(n, from, p);

    cfgnode_free(from);
    return ok;
}

void support_problems(struct strbuf *s, struct problems *p)
{
    static const char *const kind[] = {"error", "warning", "note"};

    for (int i = 0; i < p->n; i++)
        strbuf_addf(s, "%s: %s\n", kind[p->item[i].kind], p->item[i].text);
    problems_release(p);
}

void support_show(struct strbuf *s, const struct cfgnode *n)
{
    strbuf_addch(s, '{');
    for (int i = 0; i < n->n; i++) {
        strbuf_addf(s, "%s%s: ", i ? ", " : "", n->entry[i].key);
        if (n->entry[i].node)
            support_show(s, n->entry[i].node);
        else
            value_add_repr(s, &n->entry[i].value);
    }
    strbuf_addch(s, '}');
}

static char folder[64];
static char *file[64];
static int nfile;

const char *support_file(const char *name, const char *text)
{
    char *path, *dir;

    if (!*folder) {
        (void)snprintf(folder, sizeof(folder), "/tmp/trainc-config-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    path = path_join(folder, name);
    dir = path_dirname(path);
    assert_int_equal(dir_make_all(dir), 0);
    free(dir);

    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    for (int i = 0; i < nfile; i++) {
        if (!strcmp(file[i], path)) {
            free(path);
            return file[i];
        }
    }
    assert_true(nfile < 64);
    file[nfile++] = path;
    return path;
}

void support_cleanup(void)
{
    char sub[80];

    for (int i = 0; i < nfile; i++) {
        (void)unlink(file[i]);
        free(file[i]);
    }
    nfile = 0;
    (void)snprintf(sub, sizeof(sub), "%s/sub", folder);
    (void)rmdir(sub);
    (void)rmdir(folder);
    *folder = '\0';
}
