#include "dataset/lmdb_check.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/file.h"
#include "dataset/raw_file.h"

enum {
    MAGIC = (int)0xBEEFC0DE,
    VERSION = 1,
    PAGE_MIN = 256,
    PAGE_MAX = 1 << 16,
    DEPTH_MAX = 30, /* liblmdb's stack has 32 levels */
    IS_BRANCH = 1,
    IS_LEAF = 2, /* page.flags */
    IS_META = 8,
    ELSEWHERE = 1 /* flags of a leaf's node: the value is in separate pages */
};

struct page {
    uint64_t number;
    uint16_t pad, flags, lower, upper; /* free space is between lower and upper */
};

struct table {
    uint32_t pad; /* in the first table: page size */
    uint16_t flags, depth;
    uint64_t branches, leaves, overflows, entries, root;
};

struct meta {
    uint32_t magic, version;
    uint64_t address, map_size;
    struct table table[2]; /* free pages; the keys */
    uint64_t last, transaction;
};

struct node {
    uint16_t low, high, flags, key; /* followed by the key and, in a leaf, the value */
};

struct tree {
    const uint8_t *data;
    uint64_t pages, page_size, last;
    uint8_t *met; /* per page: already visited */
    uint64_t entries;
    struct strbuf *why;
};

static int damaged(struct tree *t, uint64_t number, const char *what)
{
    strbuf_addf(t->why, "page %llu is damaged: %s", (unsigned long long)number, what);
    return -1;
}

/* Checks the value of a leaf's node that is stored in separate pages. */
static int check_elsewhere(struct tree *t, uint64_t number, const uint8_t *value,
                           uint64_t len)
{
    uint64_t first;

    memcpy(&first, value, sizeof(first));
    if (first > t->last || first >= t->pages ||
        !checked_within(sizeof(struct page), len, (t->pages - first) * t->page_size))
        return damaged(t, number, "a value lies outside the file");
    return 0;
}

/* Checks the node at offset `offset` of a page. For a branch, sets *child. */
static int check_node(struct tree *t, uint64_t number, const struct page *p,
                      uint64_t offset, uint64_t *child)
{
    const uint8_t *data = t->data + number * t->page_size;
    struct node n;
    uint64_t end = offset + sizeof(n), len;

    if (offset < p->upper || offset % 2 || end > t->page_size)
        return damaged(t, number, "a node lies outside it");
    memcpy(&n, data + offset, sizeof(n));
    end += n.key;
    len = (uint64_t)n.low | (uint64_t)n.high << 16;
    if (p->flags == IS_BRANCH) {
        *child = len | (uint64_t)n.flags << 32;
        return end > t->page_size ? damaged(t, number, "a key lies outside it") : 0;
    }
    t->entries++;
    if (n.flags != 0 && n.flags != ELSEWHERE)
        return damaged(t, number, "a key has several values, or a table");
    if (n.key == 0 || end + (n.flags ? sizeof(uint64_t) : len) > t->page_size)
        return damaged(t, number, "a value lies outside it");
    return n.flags ? check_elsewhere(t, number, data + end, len) : 0;
}

static int check_page(struct tree *t, uint64_t number, int depth)
{
    struct page p;
    int keys;

    if (number >= t->pages || number > t->last)
        return damaged(t, number, "it lies outside the file");
    if (t->met[number] || depth > DEPTH_MAX)
        return damaged(t, number, "it is in the tree twice");
    t->met[number] = 1;
    memcpy(&p, t->data + number * t->page_size, sizeof(p));
    keys = p.lower < sizeof(p) ? 0 : (int)((p.lower - sizeof(p)) / 2);
    if (p.number != number || (p.flags != IS_BRANCH && p.flags != IS_LEAF) ||
        p.lower > p.upper || p.upper > t->page_size ||
        keys < (p.flags == IS_BRANCH ? 2 : 1))
        return damaged(t, number, "it is neither a branch nor a leaf");
    for (int i = 0; i < keys; i++) {
        const uint8_t *src = t->data + number * t->page_size + sizeof(p) + 2 * i;
        uint64_t child = 0;
        uint16_t offset;

        memcpy(&offset, src, sizeof(offset));
        if (check_node(t, number, &p, offset, &child) < 0)
            return -1;
        if (p.flags == IS_BRANCH && check_page(t, child, depth + 1) < 0)
            return -1;
    }
    return 0;
}

/* Reads the meta page at offset `offset`; returns false if it is invalid. */
static bool read_meta(const struct tree *t, uint64_t size, uint64_t offset,
                      struct meta *m)
{
    struct page p;

    if (size < offset + sizeof(p) + sizeof(*m))
        return false;
    memcpy(&p, t->data + offset, sizeof(p));
    memcpy(m, t->data + offset + sizeof(p), sizeof(*m));
    return p.flags & IS_META && m->magic == (uint32_t)MAGIC && m->version == VERSION;
}

static bool is_page_size(uint64_t v)
{
    return v >= PAGE_MIN && v <= PAGE_MAX && (v & (v - 1)) == 0;
}

static int check_tree(struct tree *t, uint64_t size)
{
    struct meta m[2];
    const struct table *keys;
    int newest, rc = 0;

    if (!read_meta(t, size, 0, &m[0]) || !is_page_size(m[0].table[0].pad) ||
        !read_meta(t, size, m[0].table[0].pad, &m[1]) ||
        m[1].table[0].pad != m[0].table[0].pad) {
        strbuf_addstr(t->why, "it is not an LMDB that this machine can read");
        return -1;
    }
    newest = m[0].transaction < m[1].transaction;
    keys = &m[newest].table[1];
    t->page_size = m[0].table[0].pad;
    t->pages = size / t->page_size;
    t->last = m[newest].last;
    if (keys->flags) {
        strbuf_addstr(t->why, "its keys have another order, or several values each");
        return -1;
    }
    if (keys->root == UINT64_MAX) /* no keys */
        return 0;
    t->met = xcalloc(t->pages + 1, 1);
    rc = check_page(t, keys->root, 0);
    free(t->met);
    return rc;
}

static int check_mapped(const struct raw_file *f, uint64_t *entries, struct strbuf *why)
{
    struct tree t = {.why = why};
    void *data = mmap(NULL, f->size ? f->size : 1, PROT_READ, MAP_SHARED, f->fd, 0);
    int rc;

    if (data == MAP_FAILED) {
        strbuf_addf(why, "cannot be mapped: %s", strerror(errno));
        return -1;
    }
    t.data = data;
    rc = check_tree(&t, f->size);
    *entries = t.entries;
    munmap(data, f->size ? f->size : 1);
    return rc;
}

int lmdb_walk(const char *path, uint64_t *entries, struct strbuf *why)
{
    char *inner = file_is_dir(path) ? path_join(path, "data.mdb") : xstrdup(path);
    struct raw_file *f = raw_file_open(inner, why);
    int rc = f ? check_mapped(f, entries, why) : -1;

    if (f)
        raw_file_close(f);
    free(inner);
    return rc;
}
