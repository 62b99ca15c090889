#include "base/strmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static size_t hash_of(const char *key) /* FNV-1a */
{
    size_t h = 14695981039346656037u;

    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 1099511628211u;
    return h;
}

/* Returns the slot of `key`, or the free slot where it would be inserted. */
static size_t find(const struct strmap *m, const char *key, size_t hash)
{
    size_t i = hash & (m->nslot - 1);

    while (m->slot[i]) {
        const struct strmap_entry *e = &m->entry[m->slot[i] - 1];

        if (e->hash == hash && !strcmp(e->key, key))
            break;
        i = (i + 1) & (m->nslot - 1);
    }
    return i;
}

static void rehash(struct strmap *m)
{
    free(m->slot);
    m->nslot = m->nslot ? 2 * m->nslot : 16;
    m->slot = xcalloc(m->nslot, sizeof(*m->slot));
    for (size_t i = 0; i < m->n; i++)
        m->slot[find(m, m->entry[i].key, m->entry[i].hash)] = i + 1;
}

int strmap_has(const struct strmap *m, const char *key)
{
    return m->nslot && m->slot[find(m, key, hash_of(key))];
}

void *strmap_get(const struct strmap *m, const char *key)
{
    size_t pos = m->nslot ? m->slot[find(m, key, hash_of(key))] : 0;

    return pos ? m->entry[pos - 1].value : NULL;
}

void strmap_put(struct strmap *m, const char *key, void *value)
{
    size_t hash = hash_of(key), pos;

    if (2 * (m->n + 1) > m->nslot)
        rehash(m);
    pos = find(m, key, hash);
    if (m->slot[pos]) {
        m->entry[m->slot[pos] - 1].value = value;
        return;
    }
    GROW(m->entry, m->n, m->cap);
    m->entry[m->n] = (struct strmap_entry){xstrdup(key), value, hash};
    m->slot[pos] = ++m->n;
}

void strmap_release(struct strmap *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->entry[i].key);
    free(m->entry);
    free(m->slot);
    *m = (struct strmap){0};
}
