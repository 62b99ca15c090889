#include "config/cmdline_parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/argword.h"

enum { FILES_MAX = 100 };

void parser_put(struct parser *ps, int pos, struct atword w)
{
    GROW(ps->word, ps->n, ps->cap);
    memmove(ps->word + pos + 1, ps->word + pos, (size_t)(ps->n - pos) * sizeof(w));
    ps->word[pos] = w;
    ps->n++;
}

bool parser_expand(struct parser *ps)
{
    struct atword word = ps->word[ps->i], *words;
    int n;

    if (ps->only_args || word.text[0] != '@' || !word.text[1])
        return false;
    if (++ps->nfiles > FILES_MAX) {
        problems_error(ps->p, word.origin, "@%s: more than %d argument files",
                       word.text + 1, FILES_MAX);
        ps->n = ps->i;
        return true;
    }
    words = atfile_read(word.text + 1, word.file, word.origin, &ps->line->mem, ps->p, &n);
    ps->n--;
    memmove(ps->word + ps->i, ps->word + ps->i + 1,
            (size_t)(ps->n - ps->i) * sizeof(*ps->word));
    for (int i = 0; i < n; i++)
        parser_put(ps, ps->i + i, words[i]);
    free(words);
    return true;
}

/* Returns a copy of the array with room for more than `n` items. Called when n is a power
 * of two or 0; doubles the size. */
static void *roomy(struct arena *mem, const void *array, int n, size_t size)
{
    void *grown = arena_new(mem, (size_t)(n ? 2 * n : 1) * size);

    if (n)
        memcpy(grown, array, (size_t)n * size);
    return grown;
}

static bool is_full(int n)
{
    return !(n & (n - 1));
}

void cmdline_add_word(struct cmd_word **array, int *n, struct atword w, struct arena *mem)
{
    if (is_full(*n))
        *array = roomy(mem, *array, *n, sizeof(**array));
    (*array)[(*n)++] = (struct cmd_word){w.text, w.origin};
}

void cmdline_add_set(struct cfgnode_pair **array, int *n, struct cfgnode_pair set,
                     struct arena *mem)
{
    if (is_full(*n))
        *array = roomy(mem, *array, *n, sizeof(**array));
    (*array)[(*n)++] = set;
}

bool parser_is_prefix(const struct parser *ps, char c)
{
    return c && strchr(ps->spec->prefixes ? ps->spec->prefixes : "-", c);
}

bool parser_is_value(struct parser *ps, const struct atword *w)
{
    const char *text = w->text;

    if (ps->only_args)
        return true;
    if (!strcmp(text, "--"))
        return false;
    if (!parser_is_prefix(ps, text[0]) || !text[1])
        return true;
    if (argword_is_number(text))
        return true;
    if (!strchr(text, ' ') || flags_exact(&ps->flags, text, strcspn(text, "=")))
        return false;
    return parser_is_prefix(ps, text[1]) ||
           !flags_exact(&ps->flags, text, 2); /* -c"a b.yaml" */
}

bool parser_next_value(struct parser *ps, struct atword *w)
{
    if (ps->i >= ps->n || !parser_is_value(ps, &ps->word[ps->i]))
        return false;
    *w = ps->word[ps->i++];
    return true;
}
