/* One handler a group of opcodes; the table at the end says which. */
#include "io/pickle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { VALUES = 1 << 24 };

struct reader {
    struct pickle *p;
    const uint8_t *start, *at, *end;
    struct pickle_value **stack;
    size_t n, cap;
    size_t *mark; /* heights of the stack */
    size_t nmark, mark_cap;
    struct pickle_value **memo;
    size_t nmemo, memo_cap;
    size_t values;
    bool stopped;
    const char *wrong; /* NULL: nothing is */
};

static void fail(struct reader *r, const char *wrong)
{
    if (!r->wrong)
        r->wrong = wrong;
}

/* ---- bytes ---- */

/* The next n bytes; NULL: there are not so many. */
static const uint8_t *take(struct reader *r, uint64_t n)
{
    const uint8_t *at = r->at;

    if (n > (uint64_t)(r->end - at)) {
        fail(r, "it ends in the middle");
        return NULL;
    }
    r->at += n;
    return at;
}

static uint64_t take_int(struct reader *r, int bytes)
{
    const uint8_t *b = take(r, (uint64_t)bytes);
    uint64_t v = 0;

    for (int i = bytes; b && i-- > 0;)
        v = v << 8 | b[i];
    return v;
}

/* A line of text without its end; NULL: there is no end. */
static const char *take_line(struct reader *r, size_t *len)
{
    const uint8_t *end = memchr(r->at, '\n', (size_t)(r->end - r->at)), *at = r->at;

    if (!end) {
        fail(r, "it ends in the middle");
        return NULL;
    }
    *len = (size_t)(end - at);
    r->at = end + 1;
    return (const char *)at;
}

/* ---- values ---- */

static struct pickle_value *new_value(struct reader *r, enum pickle_kind kind)
{
    struct pickle_value *v = arena_new(&r->p->mem, sizeof(*v));

    v->kind = kind;
    if (++r->values > VALUES)
        fail(r, "it has more than 16 million values");
    return v;
}

static struct pickle_value *push(struct reader *r, struct pickle_value *v)
{
    GROW(r->stack, r->n, r->cap);
    r->stack[r->n++] = v;
    return v;
}

/* NULL: there is none, or none above the last mark. */
static struct pickle_value *pop(struct reader *r)
{
    if (r->n <= (r->nmark ? r->mark[r->nmark - 1] : 0)) {
        fail(r, "a value is missing");
        return NULL;
    }
    return r->stack[--r->n];
}

static struct pickle_value *top(struct reader *r)
{
    struct pickle_value *v = pop(r);

    return v ? push(r, v) : NULL;
}

static void add_item(struct reader *r, struct pickle_value *to, struct pickle_value *v)
{
    if (to->item.n == to->item.cap) {
        size_t cap = to->item.cap ? 2 * to->item.cap : 4;
        struct pickle_value **more =
            arena_new(&r->p->mem, cap * sizeof(struct pickle_value *));

        if (to->item.n)
            memcpy(more, to->item.v, to->item.n * sizeof(*more));
        to->item.v = more;
        to->item.cap = cap;
    }
    to->item.v[to->item.n++] = v;
}

static void set_text(struct reader *r, struct pickle_value *v, const void *s, size_t len)
{
    v->text.s = arena_new(&r->p->mem, len + 1);
    v->text.len = len;
    if (len)
        memcpy(v->text.s, s, len);
}

/* The height of the stack at the last mark, which is gone then. */
static size_t pop_mark(struct reader *r)
{
    if (r->nmark)
        return r->mark[--r->nmark];
    fail(r, "a mark is missing");
    return r->n;
}

static bool holds_items(const struct pickle_value *v)
{
    return v->kind >= PICKLE_LIST && v->kind != PICKLE_GLOBAL;
}

/* ---- handlers: `arg` is the table's ---- */

static void op_proto(struct reader *r, int arg)
{
    (void)arg;
    if (take_int(r, 1) > 5)
        fail(r, "it has a protocol above 5");
}

/* Frames only tell how far to read ahead. */
static void op_frame(struct reader *r, int arg)
{
    (void)arg;
    (void)take_int(r, 8);
}

static void op_none(struct reader *r, int arg)
{
    (void)arg;
    push(r, new_value(r, PICKLE_NONE));
}

static void op_bool(struct reader *r, int arg)
{
    push(r, new_value(r, PICKLE_BOOL))->number = arg;
}

/* `arg` bytes; four have a sign. */
static void op_int(struct reader *r, int arg)
{
    uint64_t v = take_int(r, arg);

    push(r, new_value(r, PICKLE_INT))->number = arg == 4 ? (int32_t)v : (int64_t)v;
}

/* Two's complement, its length in `arg` bytes. */
static void op_long(struct reader *r, int arg)
{
    uint64_t len = take_int(r, arg), v = 0;
    const uint8_t *b = take(r, len);

    if (!b)
        return;
    if (len > 8) {
        set_text(r, push(r, new_value(r, PICKLE_LONG)), b, len);
        return;
    }
    if (len && b[len - 1] >> 7)
        v = UINT64_MAX;
    for (uint64_t i = len; i-- > 0;)
        v = v << 8 | b[i];
    push(r, new_value(r, PICKLE_INT))->number = (int64_t)v;
}

/* Big-endian. */
static void op_float(struct reader *r, int arg)
{
    uint64_t v = take_int(r, arg);

    v = __builtin_bswap64(v);
    memcpy(&push(r, new_value(r, PICKLE_FLOAT))->real, &v, sizeof(v));
}

static void add_string(struct reader *r, enum pickle_kind kind, int bytes)
{
    uint64_t len = take_int(r, bytes);
    const uint8_t *s = take(r, len);

    if (s)
        set_text(r, push(r, new_value(r, kind)), s, len);
}

/* Its length in `arg` bytes; Python 2's strings, too. */
static void op_text(struct reader *r, int arg)
{
    add_string(r, PICKLE_TEXT, arg);
}

static void op_bytes(struct reader *r, int arg)
{
    add_string(r, PICKLE_BYTES, arg);
}

static void op_empty(struct reader *r, int arg)
{
    push(r, new_value(r, (enum pickle_kind)arg));
}

static void op_mark(struct reader *r, int arg)
{
    (void)arg;
    GROW(r->mark, r->nmark, r->mark_cap);
    r->mark[r->nmark++] = r->n;
}

/* What is above the mark, as a list, a tuple or a dict. */
static void op_gather(struct reader *r, int arg)
{
    size_t from = pop_mark(r), to = r->n;
    struct pickle_value *v = new_value(r, (enum pickle_kind)arg);

    if (arg == PICKLE_DICT && (to - from) % 2)
        fail(r, "a key has no value");
    for (size_t i = from; i < to; i++)
        add_item(r, v, r->stack[i]);
    r->n = from;
    push(r, v);
}

/* The last `arg` values as a tuple. */
static void op_tuple(struct reader *r, int arg)
{
    struct pickle_value *v = new_value(r, PICKLE_TUPLE), *last[3];

    for (int i = arg; i-- > 0;)
        last[i] = pop(r);
    for (int i = 0; i < arg && !r->wrong; i++)
        add_item(r, v, last[i]);
    push(r, v);
}

/* Items [from, end of the stack) go to the value below; an object does not keep them. */
static void extend(struct reader *r, size_t from, bool pairs)
{
    size_t end = r->n;
    struct pickle_value *v;

    r->n = from;
    v = top(r);
    if (!v)
        return;
    if (pairs && (end - from) % 2)
        fail(r, "a key has no value");
    else if (v->kind == (pairs ? PICKLE_DICT : PICKLE_LIST))
        for (size_t i = from; i < end; i++)
            add_item(r, v, r->stack[i]);
    else if (v->kind != PICKLE_OBJECT)
        fail(r, "something is put into a value that holds nothing");
}

/* All above the mark; `arg`: pairs. */
static void op_extend(struct reader *r, int arg)
{
    size_t from = pop_mark(r);

    if (!r->wrong)
        extend(r, from, arg);
}

/* The last one or, `arg`, two. */
static void op_append(struct reader *r, int arg)
{
    size_t n = arg ? 2 : 1, bottom = r->nmark ? r->mark[r->nmark - 1] : 0;

    if (r->n < bottom + n + 1)
        fail(r, "a value is missing");
    else
        extend(r, r->n - n, arg);
}

static void op_pop(struct reader *r, int arg)
{
    (void)arg;
    if (r->nmark && r->n == r->mark[r->nmark - 1])
        r->nmark--;
    else
        (void)pop(r);
}

static void op_pop_mark(struct reader *r, int arg)
{
    (void)arg;
    r->n = pop_mark(r);
}

static void op_dup(struct reader *r, int arg)
{
    struct pickle_value *v = top(r);

    (void)arg;
    if (v)
        push(r, v);
}

/* ---- the memo ---- */

static void memo_put(struct reader *r, uint64_t i)
{
    struct pickle_value *v = top(r);

    /* Each entry takes a byte at least, so no index is larger. */
    if (i >= (uint64_t)(r->end - r->start)) {
        fail(r, "an entry of its memo is out of range");
        return;
    }
    while (r->nmemo <= i) {
        GROW(r->memo, r->nmemo, r->memo_cap);
        r->memo[r->nmemo++] = NULL;
    }
    r->memo[i] = v;
}

static void op_put(struct reader *r, int arg)
{
    memo_put(r, take_int(r, arg));
}

static void op_memoize(struct reader *r, int arg)
{
    (void)arg;
    memo_put(r, r->nmemo);
}

static void op_get(struct reader *r, int arg)
{
    uint64_t i = take_int(r, arg);

    if (i < r->nmemo && r->memo[i])
        push(r, r->memo[i]);
    else
        fail(r, "an entry of its memo is missing");
}

/* ---- classes, functions and what they would make ---- */

static void push_global(struct reader *r, const char *module, size_t m, const char *name,
                        size_t n)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_add(&s, module, m);
    strbuf_addch(&s, ' ');
    strbuf_add(&s, name, n);
    set_text(r, push(r, new_value(r, PICKLE_GLOBAL)), s.buf, s.len);
    strbuf_release(&s);
}

static void op_global(struct reader *r, int arg)
{
    size_t m = 0, n = 0;
    const char *module = take_line(r, &m), *name = module ? take_line(r, &n) : NULL;

    (void)arg;
    if (name)
        push_global(r, module, m, name, n);
}

static void op_stack_global(struct reader *r, int arg)
{
    struct pickle_value *name = pop(r), *module = pop(r);

    (void)arg;
    if (!name || !module)
        return;
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        fail(r, "a class has no name");
    else
        push_global(r, module->text.s, module->text.len, name->text.s, name->text.len);
}

/* OrderedDict(), or OrderedDict([(key, value), ...]); NULL: something else. */
static struct pickle_value *ordered_dict(struct reader *r,
                                         const struct pickle_value *what,
                                         const struct pickle_value *args)
{
    const char *name = pickle_global(what);
    const struct pickle_value *pairs = pickle_item(args, 0), *pair;
    struct pickle_value *d;

    if (!name || strcmp(name, "collections OrderedDict") != 0 ||
        args->kind != PICKLE_TUPLE || args->item.n > 1)
        return NULL;
    d = new_value(r, PICKLE_DICT);
    for (size_t i = 0; (pair = pickle_item(pairs, i)); i++) {
        if (!pickle_item(pair, 1))
            return NULL;
        add_item(r, d, pair->item.v[0]);
        add_item(r, d, pair->item.v[1]);
    }
    return d;
}

/* A call: function and arguments, and named ones if `arg`. */
static void op_call(struct reader *r, int arg)
{
    struct pickle_value *args, *what, *v;

    if (arg)
        (void)pop(r);
    args = pop(r);
    what = args ? pop(r) : NULL;
    if (!what)
        return;
    v = ordered_dict(r, what, args);
    if (!v) {
        v = new_value(r, PICKLE_OBJECT);
        add_item(r, v, what);
        add_item(r, v, args);
    }
    push(r, v);
}

/* An object's attributes, of which we know none. */
static void op_build(struct reader *r, int arg)
{
    (void)arg;
    (void)pop(r);
    (void)top(r);
}

static void op_ref(struct reader *r, int arg)
{
    struct pickle_value *id = pop(r), *v;

    (void)arg;
    if (!id)
        return;
    v = new_value(r, PICKLE_REF);
    add_item(r, v, id);
    GROW(r->p->ref, r->p->nref, r->p->ref_cap);
    r->p->ref[r->p->nref++] = push(r, v);
}

static void op_stop(struct reader *r, int arg)
{
    (void)arg;
    r->p->root = pop(r);
    r->stopped = true;
}

static const struct {
    void (*read)(struct reader *r, int arg);
    int arg;
} opcode[256] = {
    [0x80] = {op_proto, 0},
    [0x95] = {op_frame, 0},
    ['.'] = {op_stop, 0},
    ['N'] = {op_none, 0},
    [0x88] = {op_bool, 1},
    [0x89] = {op_bool, 0},
    ['K'] = {op_int, 1},
    ['M'] = {op_int, 2},
    ['J'] = {op_int, 4},
    [0x8a] = {op_long, 1},
    [0x8b] = {op_long, 4},
    ['G'] = {op_float, 8},
    ['U'] = {op_text, 1},
    ['T'] = {op_text, 4},
    [0x8c] = {op_text, 1},
    ['X'] = {op_text, 4},
    [0x8d] = {op_text, 8},
    ['C'] = {op_bytes, 1},
    ['B'] = {op_bytes, 4},
    [0x8e] = {op_bytes, 8},
    [0x96] = {op_bytes, 8},
    [']'] = {op_empty, PICKLE_LIST},
    [')'] = {op_empty, PICKLE_TUPLE},
    ['}'] = {op_empty, PICKLE_DICT},
    [0x8f] = {op_empty, PICKLE_LIST},
    ['('] = {op_mark, 0},
    ['l'] = {op_gather, PICKLE_LIST},
    ['t'] = {op_gather, PICKLE_TUPLE},
    ['d'] = {op_gather, PICKLE_DICT},
    [0x91] = {op_gather, PICKLE_LIST},
    [0x85] = {op_tuple, 1},
    [0x86] = {op_tuple, 2},
    [0x87] = {op_tuple, 3},
    ['a'] = {op_append, false},
    ['s'] = {op_append, true},
    ['e'] = {op_extend, false},
    [0x90] = {op_extend, false},
    ['u'] = {op_extend, true},
    ['0'] = {op_pop, 0},
    ['1'] = {op_pop_mark, 0},
    ['2'] = {op_dup, 0},
    ['q'] = {op_put, 1},
    ['r'] = {op_put, 4},
    [0x94] = {op_memoize, 0},
    ['h'] = {op_get, 1},
    ['j'] = {op_get, 4},
    ['c'] = {op_global, 0},
    [0x93] = {op_stack_global, 0},
    ['R'] = {op_call, false},
    [0x81] = {op_call, false},
    [0x92] = {op_call, true},
    ['b'] = {op_build, 0},
    ['Q'] = {op_ref, 0},
};

int pickle_read(struct pickle *p, const void *data, size_t len, struct strbuf *why)
{
    struct reader r = {.p = p, .start = data, .at = data};
    const uint8_t *op;

    *p = (struct pickle){0};
    r.end = r.start + len;
    while (!r.stopped && !r.wrong && (op = take(&r, 1))) {
        if (opcode[*op].read)
            opcode[*op].read(&r, opcode[*op].arg);
        else
            fail(&r, "an opcode that torch.save does not write");
    }
    p->used = (size_t)(r.at - r.start);
    if (r.wrong)
        strbuf_addf(why, "bad pickle, at byte %zu: %s", p->used, r.wrong);
    free(r.stack);
    free(r.mark);
    free(r.memo);
    return r.wrong ? -1 : 0;
}

void pickle_release(struct pickle *p)
{
    arena_release(&p->mem);
    free(p->ref);
    *p = (struct pickle){0};
}

const struct pickle_value *pickle_get(const struct pickle_value *d, const char *key)
{
    if (!d || d->kind != PICKLE_DICT)
        return NULL;
    for (size_t i = d->item.n; i; i -= 2) { /* the last one counts */
        const char *text = pickle_text(d->item.v[i - 2]);

        if (text && !strcmp(text, key))
            return d->item.v[i - 1];
    }
    return NULL;
}

const struct pickle_value *pickle_item(const struct pickle_value *v, size_t i)
{
    return v && holds_items(v) && v->kind != PICKLE_DICT && i < v->item.n ? v->item.v[i]
                                                                          : NULL;
}

const char *pickle_text(const struct pickle_value *v)
{
    return v && v->kind == PICKLE_TEXT ? v->text.s : NULL;
}

const char *pickle_global(const struct pickle_value *v)
{
    return v && v->kind == PICKLE_GLOBAL ? v->text.s : NULL;
}
