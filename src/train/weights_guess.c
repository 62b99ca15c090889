#include "train/weights_guess.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "models/layers.h"
#include "ops/table.h"
#include "train/remake.h"
#include "train/statedict.h"

struct candidate {
    const struct weights_file *file;
    const struct model *model;
    struct graph *graph;
    const char *const *head;
    const char *last[2]; /* the head, for families that do not name it */
    const struct tensor **tensor;
    const char **name; /* name of each tensor, starting with the first weight */
    int n;
    struct file_names names;
    const char *refused;
};

static void candidate_init(struct candidate *c, const struct weights_file *file,
                           const struct model *m)
{
    struct model_options o = {.classes = m->classes};
    struct builder b = {.g = graph_new(&graph_ops_default, false)};
    struct tensor *x =
        graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                    (const int64_t[]){1, 3, m->height ? m->height : m->size, m->size});
    struct tensor *logits = model_build(&b, m, &o, x);

    *c = (struct candidate){.file = file, .model = m, .graph = b.g};
    c->last[0] = logits ? logits->producer->layer : "";
    c->head = m->family->heads ? m->family->heads : c->last;
    c->tensor = xcalloc((size_t)b.g->ntensor + 1, sizeof(*c->tensor));
    c->name = xcalloc((size_t)b.g->ntensor + 1, sizeof(*c->name));
    for (int i = 0; i < b.g->ntensor; i++) {
        const struct tensor *t = b.g->tensor[i];

        if (t->kind != TENSOR_PARAM &&
            (t->kind != TENSOR_STATE || t->memory != MEMORY_WEIGHTS))
            continue;
        c->tensor[c->n] = t;
        c->name[c->n++] = t->name;
    }
    c->refused = file_names_find(&c->names, file, m->family->type, c->name, c->n);
}

static void candidate_release(struct candidate *c)
{
    file_names_release(&c->names);
    free(c->tensor);
    free(c->name);
    graph_free(c->graph);
}

/* Returns the number of the model's tensors that the file has with the same shape, or -1
 * if the file does not match the model. */
static int score(const struct candidate *c)
{
    bool *used = xcalloc(c->file->n + 1, sizeof(*used));
    int exact = 0;

    for (int i = 0; i < c->n && exact >= 0; i++) {
        const struct tensor *t = c->tensor[i];
        const struct safetensors_tensor *file = file_names_get(&c->names, t->name);
        bool head = layers_contain(c->head, t->name);

        if (file)
            used[file_names_index(&c->names, file)] = true;
        if (file && statedict_fits(t, file))
            exact++;
        else if (file ? !head && !remake_find(c->model->family, head, t, file)
                      : !head && !statedict_is_counter(t))
            exact = -1;
    }
    for (size_t i = 0; i < c->file->n && exact >= 0; i++)
        if (!used[i] &&
            !file_names_extra(&c->names, c->model->family, c->file->tensor[i].name))
            exact = -1;
    free(used);
    return c->refused ? -1 : exact;
}

/* Moves the candidate's names to `g`. */
static void keep(struct weights_guess *g, struct candidate *c)
{
    weights_guess_release(g);
    g->name = xcalloc((size_t)c->n + 1, sizeof(*g->name));
    for (int i = 0; i < c->n; i++)
        if (file_names_get(&c->names, c->name[i]))
            g->name[g->nname++] = xstrdup(c->name[i]);
    g->names = c->names;
    c->names = (struct file_names){0};
}

void weights_guess_make(struct weights_guess *g, const struct weights_file *file)
{
    int best = 0;

    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++) {
            struct candidate c;
            int n;

            candidate_init(&c, file, m);
            n = score(&c);
            if (n > best) {
                best = n;
                keep(g, &c);
            }
            if (n == best && best && g->n < WEIGHTS_GUESSES)
                g->model[g->n++] = m;
            candidate_release(&c);
        }
}

void weights_guess_release(struct weights_guess *g)
{
    for (int i = 0; i < g->nname; i++)
        free(g->name[i]);
    free(g->name);
    file_names_release(&g->names);
    *g = (struct weights_guess){0};
}

void weights_guess_add(struct strbuf *s, const struct weights_file *file,
                       const struct model *but)
{
    struct weights_guess g = {0};
    bool known = false;

    weights_guess_make(&g, file);
    for (int i = 0; i < g.n; i++)
        known = known || g.model[i] == but;
    for (int i = 0; i < g.n && !known; i++)
        strbuf_addf(s, "%s%s", i ? " or " : "; the file looks like ", g.model[i]->name);
    weights_guess_release(&g);
}
