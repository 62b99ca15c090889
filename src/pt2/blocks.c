#include "pt2/blocks.h"

#include <string.h>

enum { NAME_MAX_LEN = 512, LEAST = 3 }; /* LEAST: modules with parameters in a block */

/* Shortens a name to the module around it. Returns false if there is none. */
static bool go_up(char *name)
{
    char *dot = strrchr(name, '.');

    if (dot)
        *dot = 0;
    return dot != NULL;
}

/* True if the last part of a name has a digit. */
static bool is_numbered(const char *name)
{
    const char *dot = strrchr(name, '.');

    return strpbrk(dot ? dot + 1 : name, "0123456789") != NULL;
}

/* Copies a name, unless it is too long. */
static bool copy(char *dst, const char *name)
{
    size_t len = strlen(name);

    if (len >= NAME_MAX_LEN)
        return false;
    memcpy(dst, name, len + 1);
    return true;
}

/* Counts a module with parameters in each block around it, and itself. */
static void count(struct pt2_blocks *b, char *module)
{
    do {
        int *n;

        if (!is_numbered(module))
            continue;
        n = strmap_get(&b->count, module);
        if (!n) {
            n = arena_new(&b->mem, sizeof(*n));
            strmap_put(&b->count, module, n);
        }
        ++*n;
    } while (go_up(module));
}

void pt2_blocks_init(struct pt2_blocks *b, const struct pt2_program *p)
{
    struct strmap seen = {0};
    char module[NAME_MAX_LEN];

    *b = (struct pt2_blocks){0};
    for (int i = 0; i < p->nweight; i++) {
        if (p->weight[i].kind != PT2_PARAMETER || !copy(module, p->weight[i].name) ||
            !go_up(module) || strmap_has(&seen, module))
            continue;
        strmap_put(&seen, module, b);
        count(b, module);
    }
    strmap_release(&seen);
}

void pt2_blocks_release(struct pt2_blocks *b)
{
    strmap_release(&b->count);
    arena_release(&b->mem);
}

size_t pt2_blocks_find(const struct pt2_blocks *b, const char *module)
{
    char name[NAME_MAX_LEN];

    if (!b->count.n || !copy(name, module))
        return 0;
    do {
        const int *n = is_numbered(name) ? strmap_get(&b->count, name) : NULL;

        if (n && *n >= LEAST)
            return strlen(name);
    } while (go_up(name));
    return 0;
}
