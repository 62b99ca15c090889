/* Other projects' tensor names: each list of tests/golden/names, with a model's names and
 * shapes as written by its project, maps to trainc's names with no tensor left over. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "models/table.h"
#include "ops/table.h"
#include "tests/test.h"
#include "train/file_names.h"
#include "train/remake.h"
#include "train/statedict.h"

#define GOLDEN "tests/golden/names/"

enum { MOST = 1024 };

struct list {
    char model[64];
    long long classes;
    struct safetensors_tensor tensor[MOST];
    struct weights_file file;
};

/* Parses one line "NAME DIM..." per tensor. Modifies `text`, which keeps the names. */
static void read_list(struct list *l, char *text)
{
    char *save, *line = strtok_r(text, "\n", &save);

    assert_int_equal(sscanf(line, "%63s %lld", l->model, &l->classes), 2);
    while ((line = strtok_r(NULL, "\n", &save))) {
        struct safetensors_tensor *t = &l->tensor[l->file.n++];
        char *word, *rest;

        assert_true(l->file.n < MOST);
        t->name = strtok_r(line, " ", &rest);
        t->dtype = SAFETENSORS_F32;
        t->size = sizeof(float);
        while ((word = strtok_r(NULL, " ", &rest))) {
            t->dims[t->ndim++] = strtoll(word, NULL, 10);
            t->size *= (uint64_t)t->dims[t->ndim - 1];
        }
        strmap_put(&l->file.safetensors.index, t->name, t);
    }
    l->file.tensor = l->tensor;
}

static int add_tensors(const struct graph *g, bool params, const struct tensor **t,
                       const char **name)
{
    int n = 0;

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *one = g->tensor[i];

        if (params ? one->kind != TENSOR_PARAM
                   : one->kind != TENSOR_STATE || one->memory != MEMORY_WEIGHTS)
            continue;
        t[n] = one;
        name[n++] = one->name;
    }
    return n;
}

/* Stores the model's tensors of a state dict in t[]: parameters, then buffers. */
static int state_of(const struct graph *g, const struct tensor **t, const char **name)
{
    int n = add_tensors(g, true, t, name);

    return n + add_tensors(g, false, t + n, name + n);
}

static void check_one(const char *path, const struct file_names *names,
                      const struct model *m, const struct tensor *t, bool head,
                      bool *used)
{
    const struct safetensors_tensor *file = file_names_get(names, t->name);

    if (!file && (head || statedict_is_counter(t)))
        return;
    if (!file)
        fail_msg("%s: no %s", path, t->name);
    if (!head && !statedict_fits(t, file) && !remake_find(m->family, false, t, file))
        fail_msg("%s: %s has another shape", path, t->name);
    used[file_names_index(names, file)] = true;
}

static bool computed(const struct model_family *f, const char *name)
{
    const char *const *word = f->computed;

    while (word && *word && !strstr(name, *word))
        word++;
    return word && *word;
}

static void check_list(const char *path)
{
    struct list *l = xcalloc(1, sizeof(*l));
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct strbuf why = STRBUF_INIT;
    char *text = file_read(path, NULL);
    const struct tensor *t[MOST], *logits;
    const char *name[MOST], *refuse;
    struct file_names names;
    bool used[MOST] = {false};
    const struct model *m;
    int n;

    assert_non_null(text);
    read_list(l, text);
    m = model_find(model_family_of(l->model)->type, l->model, &why);
    logits = model_build(&b, m,
                         &(struct model_options){.classes = l->classes ? l->classes : 1},
                         graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                     (const int64_t[]){1, 3, m->size, m->size}));
    n = state_of(b.g, t, name);
    refuse = file_names_find(&names, &l->file, m->family->type, name, n);
    if (refuse || !names.scheme)
        fail_msg("%s: %s", path, refuse ? refuse : "no scheme");
    for (int i = 0; i < n; i++) {
        size_t len = strlen(logits->producer->layer);
        bool head =
            !strncmp(name[i], "head_dist.", 10) ||
            (!strncmp(name[i], logits->producer->layer, len) && name[i][len] == '.') ||
            (m->family->heads && !strncmp(name[i], "head.", 5));

        check_one(path, &names, m, t[i], head && (!l->classes || strstr(name[i], "bias")),
                  used);
    }
    for (size_t i = 0; i < l->file.n; i++)
        if (!used[i] && scheme_keeps(names.scheme, l->tensor[i].name) &&
            !computed(m->family, l->tensor[i].name))
            fail_msg("%s: %s is left over", path, l->tensor[i].name);
    file_names_release(&names);
    strmap_release(&l->file.safetensors.index);
    graph_free(b.g);
    free(text);
    strbuf_release(&why);
    free(l);
}

static void test_lists(void **state)
{
    DIR *dir = opendir(GOLDEN);
    struct dirent *entry;
    int n = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char *path = xasprintf(GOLDEN "%s", entry->d_name);

        if (!strcmp(path_extension(path), ".txt")) {
            check_list(path);
            n++;
        }
        free(path);
    }
    (void)closedir(dir);
    assert_true(n >= 20);
}

/* Each scheme that is not rejected has a list. */
static void test_refused(void **state)
{
    (void)state;
    for (const struct scheme *s = schemes; s->name; s++) {
        char *name = xasprintf("visual.%s", s->mark);
        struct safetensors_tensor t = {.name = name};
        struct weights_file file = {.tensor = &t, .n = 1};
        struct file_names names;

        if (s->refuse) {
            const char *model[] = {s->refuses_suffix, s->accepts_suffix};
            int n = s->refuses_suffix ? 1 : 0;

            assert_ptr_equal(file_names_find(&names, &file, s->family, model, n),
                             s->refuse);
            file_names_release(&names);
            if (s->accepts_suffix) {
                model[0] = model[0] ? model[0] : s->accepts_suffix;
                assert_null(file_names_find(&names, &file, s->family, model, n + 1));
                file_names_release(&names);
            }
            if (s->refuses_suffix) {
                assert_null(file_names_find(&names, &file, s->family, model, 0));
                file_names_release(&names);
            }
        }
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
