#include "tests/config/config_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/literal.h"
#include "config/schema.h"
#include "config/yaml.h"
#include "tests/test.h"

enum { ARGC_MAX = 60 };

static struct decl decl_of(const struct value *v)
{
    bool list = v->type == VALUE_LIST || v->type == VALUE_TUPLE;

    return (struct decl){
        .type = v->type == VALUE_NONE ? VALUE_STR : v->type,
        .item = list && v->list.n ? v->list.item[0].type : VALUE_STR,
    };
}

/*
 * Gives types to a tree without: each leaf gets the type of its value, after text that
 * Python would parse, such as (1, 2) and None, is parsed.
 */
static void declare(struct cfgnode *n, const char *section, struct arena *mem)
{
    for (int i = 0; i < n->n; i++) {
        struct cfgnode_entry *e = &n->entry[i];

        e->name = *section ? arena_printf(mem, "%s.%s", section, e->key) : e->key;
        e->origin = NULL;
        if (e->node)
            declare(e->node, e->name, mem);
        else if (e->value.type == VALUE_STR && !e->value.quoted)
            e->value = literal_parse(mem, e->value.s);
        e->decl = decl_of(&e->value);
    }
}

struct cfgnode *support_tree(const char *yaml)
{
    struct problems p = {0};
    struct cfgnode *n = yaml_read_text(yaml, strlen(yaml), "fixture", &p);

    assert_non_null(n);
    assert_int_equal(p.n, 0);
    declare(n, "", n->mem);
    return n;
}

void support_merge_list(struct cfgnode *n, const char *pairs, struct problems *p)
{
    char *text = xstrdup(pairs), *save = NULL;

    for (char *w = strtok_r(text, "|", &save); w; w = strtok_r(NULL, "|", &save)) {
        struct cfgnode_pair pair = {w, strchr(w, '=') + 1, NULL};

        *strchr(w, '=') = '\0';
        cfgnode_merge_list(n, &pair, 1, p);
    }
    free(text);
}

void support_merge_yaml(struct cfgnode *n, const char *yaml, struct problems *p)
{
    struct cfgnode *src = yaml_read_text(yaml, strlen(yaml), "f.yaml", p);

    if (src)
        cfgnode_merge(n, src, p);
    cfgnode_free(src);
}

void support_problems(struct strbuf *s, struct problems *p)
{
    static const char *const kind[] = {"error", "warning", "note", "warning"};

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
static char *made[64];
static int nmade;

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
    for (int i = 0; i < nmade; i++) {
        if (!strcmp(made[i], path)) {
            free(path);
            return made[i];
        }
    }
    assert_true(nmade < 64);
    made[nmade++] = path;
    return path;
}

void support_cleanup(void)
{
    char sub[80];

    for (int i = 0; i < nmade; i++) {
        (void)unlink(made[i]);
        free(made[i]);
    }
    nmade = 0;
    (void)snprintf(sub, sizeof(sub), "%s/sub", folder);
    (void)rmdir(sub);
    (void)rmdir(folder);
    *folder = '\0';
}

bool support_load(struct config *cfg, struct strbuf *says, const char *words,
                  const char *file)
{
    struct cmd_spec spec = {.schema = schema_table};
    char *text = xstrdup(words), *argv[ARGC_MAX], *save = NULL;
    struct problems p = {0};
    struct cmdline line;
    int argc = 0;
    bool ok;

    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        assert_true(argc < ARGC_MAX);
        argv[argc++] = !strcmp(w, "%s") ? xstrdup(file) : xstrdup(w);
    }
    cmdline_parse(&line, &spec, argc, argv, &p);
    ok = config_load(cfg, &line, &p);
    support_problems(says, &p);
    cmdline_release(&line);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    free(text);
    return ok;
}

void support_says(const char *words, const char *file, const char *want)
{
    struct strbuf got = STRBUF_INIT, cut = STRBUF_INIT;
    struct config cfg;
    bool ok = support_load(&cfg, &got, words, file);

    for (const char *c = got.buf; *c; c++) {
        if (!strncmp(c, "/tmp/trainc-config-", 19))
            c += strcspn(c + 19, "/") + 20;
        strbuf_addch(&cut, *c);
    }
    if (strcmp(cut.buf, want) != 0)
        fail_msg("'%s' says\n%swant\n%s", words, cut.buf, want);
    assert_true(ok == !strstr(want, "error: "));
    config_release(&cfg);
    strbuf_release(&got);
    strbuf_release(&cut);
}
