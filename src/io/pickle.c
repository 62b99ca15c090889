/* One handler per group of opcodes, followed by `opcode`, their table. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/pickle_stack.h"

/* ---- handlers: `arg` comes from the opcode's row in the table ---- */

static void op_proto(struct pickle_reader *r, int arg)
{
    (void)arg;
    if (pickle_read_int(r, 1) > 5)
        pickle_fail(r, "it has a protocol above 5");
}

/* Skips the length of a frame, which only stream readers need. */
static void op_frame(struct pickle_reader *r, int arg)
{
    (void)arg;
    (void)pickle_read_int(r, 8);
}

static void op_none(struct pickle_reader *r, int arg)
{
    (void)arg;
    pickle_push(r, pickle_new(r, PICKLE_NONE));
}

static void op_bool(struct pickle_reader *r, int arg)
{
    pickle_push(r, pickle_new(r, PICKLE_BOOL))->number = arg;
}

/* Pushes an int of `arg` bytes; one of four bytes is signed. */
static void op_int(struct pickle_reader *r, int arg)
{
    uint64_t v = pickle_read_int(r, arg);

    pickle_push(r, pickle_new(r, PICKLE_INT))->number =
        arg == 4 ? (int32_t)v : (int64_t)v;
}

/* Pushes a little-endian two's complement int that follows its length in `arg` bytes. */
static void op_long(struct pickle_reader *r, int arg)
{
    uint64_t len = pickle_read_int(r, arg), v = 0;
    const uint8_t *b = pickle_next(r, len);

    if (!b)
        return;
    if (len > 8) {
        pickle_set_text(r, pickle_push(r, pickle_new(r, PICKLE_LONG)), b, len);
        return;
    }
    if (len && b[len - 1] >> 7)
        v = UINT64_MAX;
    for (uint64_t i = len; i-- > 0;)
        v = v << 8 | b[i];
    pickle_push(r, pickle_new(r, PICKLE_INT))->number = (int64_t)v;
}

/* Pushes a big-endian double. */
static void op_float(struct pickle_reader *r, int arg)
{
    uint64_t v = pickle_read_int(r, arg);

    v = __builtin_bswap64(v);
    memcpy(&pickle_push(r, pickle_new(r, PICKLE_FLOAT))->real, &v, sizeof(v));
}

static void add_string(struct pickle_reader *r, enum pickle_kind kind, int bytes)
{
    uint64_t len = pickle_read_int(r, bytes);
    const uint8_t *s = pickle_next(r, len);

    if (s)
        pickle_set_text(r, pickle_push(r, pickle_new(r, kind)), s, len);
}

/* Pushes a str, or a Python 2 string, that follows its length in `arg` bytes. */
static void op_text(struct pickle_reader *r, int arg)
{
    add_string(r, PICKLE_TEXT, arg);
}

static void op_bytes(struct pickle_reader *r, int arg)
{
    add_string(r, PICKLE_BYTES, arg);
}

static void op_empty(struct pickle_reader *r, int arg)
{
    pickle_push(r, pickle_new(r, (enum pickle_kind)arg));
}

static void op_mark(struct pickle_reader *r, int arg)
{
    (void)arg;
    GROW(r->mark, r->nmark, r->mark_cap);
    r->mark[r->nmark++] = r->n;
}

/* Replaces everything above the mark by a list, a tuple, or a dict (`arg`: the kind). */
static void op_gather(struct pickle_reader *r, int arg)
{
    size_t begin = pickle_pop_mark(r), end = r->n;
    struct pickle_value *v = pickle_new(r, (enum pickle_kind)arg);

    if (arg == PICKLE_DICT && (end - begin) % 2)
        pickle_fail(r, "a key has no value");
    for (size_t i = begin; i < end; i++)
        pickle_add(r, v, r->stack[i]);
    r->n = begin;
    pickle_push(r, v);
}

/* Replaces the last `arg` values by a tuple. */
static void op_tuple(struct pickle_reader *r, int arg)
{
    struct pickle_value *v = pickle_new(r, PICKLE_TUPLE), *last[3];

    for (int i = arg; i-- > 0;)
        last[i] = pickle_pop(r);
    for (int i = 0; i < arg && !r->wrong; i++)
        pickle_add(r, v, last[i]);
    pickle_push(r, v);
}

/* Moves items [from, end of the stack) to the value below them; `pairs`: they are keys
 * and values. An object discards them. */
static void extend(struct pickle_reader *r, size_t begin, bool pairs)
{
    size_t end = r->n;
    struct pickle_value *v;

    r->n = begin;
    v = pickle_top(r);
    if (!v)
        return;
    if (pairs && (end - begin) % 2)
        pickle_fail(r, "a key has no value");
    else if (v->kind == (pairs ? PICKLE_DICT : PICKLE_LIST))
        for (size_t i = begin; i < end; i++)
            pickle_add(r, v, r->stack[i]);
    else if (v->kind != PICKLE_OBJECT)
        pickle_fail(r, "something is put into a value that holds nothing");
}

/* Moves everything above the mark to the value below it; `arg`: true for keys and
 * values. */
static void op_extend(struct pickle_reader *r, int arg)
{
    size_t start = pickle_pop_mark(r);

    if (!r->wrong)
        extend(r, start, arg);
}

/* Moves the last value or, if `arg`, the last key and value to the value below. */
static void op_append(struct pickle_reader *r, int arg)
{
    size_t n = arg ? 2 : 1, bottom = r->nmark ? r->mark[r->nmark - 1] : 0;

    if (r->n < bottom + n + 1)
        pickle_fail(r, "a value is missing");
    else
        extend(r, r->n - n, arg);
}

static void op_pop(struct pickle_reader *r, int arg)
{
    (void)arg;
    if (r->nmark && r->n == r->mark[r->nmark - 1])
        r->nmark--;
    else
        (void)pickle_pop(r);
}

static void op_pop_mark(struct pickle_reader *r, int arg)
{
    (void)arg;
    r->n = pickle_pop_mark(r);
}

static void op_dup(struct pickle_reader *r, int arg)
{
    struct pickle_value *v = pickle_top(r);

    (void)arg;
    if (v)
        pickle_push(r, v);
}

/* ---- the memo ---- */

static void op_put(struct pickle_reader *r, int arg)
{
    pickle_memo_put(r, pickle_read_int(r, arg));
}

static void op_memoize(struct pickle_reader *r, int arg)
{
    (void)arg;
    pickle_memo_put(r, r->nmemo);
}

static void op_get(struct pickle_reader *r, int arg)
{
    struct pickle_value *v = pickle_memo_get(r, pickle_read_int(r, arg));

    if (v)
        pickle_push(r, v);
}

/* ---- classes, functions, and their results ---- */

static void push_global(struct pickle_reader *r, const char *module, size_t m,
                        const char *name, size_t n)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_add(&s, module, m);
    strbuf_addch(&s, ' ');
    strbuf_add(&s, name, n);
    pickle_set_text(r, pickle_push(r, pickle_new(r, PICKLE_GLOBAL)), s.buf, s.len);
    strbuf_release(&s);
}

static void op_global(struct pickle_reader *r, int arg)
{
    size_t m = 0, n = 0;
    const char *module = pickle_next_line(r, &m),
               *name = module ? pickle_next_line(r, &n) : NULL;

    (void)arg;
    if (name)
        push_global(r, module, m, name, n);
}

static void op_stack_global(struct pickle_reader *r, int arg)
{
    struct pickle_value *name = pickle_pop(r), *module = pickle_pop(r);

    (void)arg;
    if (!name || !module)
        return;
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        pickle_fail(r, "a class has no name");
    else
        push_global(r, module->text.s, module->text.len, name->text.s, name->text.len);
}

/* Returns the dict of OrderedDict() or OrderedDict([(key, value), ...]), or NULL for any
 * other call. */
static struct pickle_value *ordered_dict(struct pickle_reader *r,
                                         const struct pickle_value *what,
                                         const struct pickle_value *args)
{
    const char *name = pickle_global(what);
    const struct pickle_value *pairs = pickle_item(args, 0), *pair;
    struct pickle_value *d;

    if (!name || strcmp(name, "collections OrderedDict") != 0 ||
        args->kind != PICKLE_TUPLE || args->item.n > 1)
        return NULL;
    d = pickle_new(r, PICKLE_DICT);
    for (size_t i = 0; !r->wrong && (pair = pickle_item(pairs, i)); i++) {
        if (!pickle_item(pair, 1))
            return NULL;
        pickle_add(r, d, pair->item.v[0]);
        pickle_add(r, d, pair->item.v[1]);
    }
    return d;
}

/* Replaces a function and its arguments by the result of the call; `arg`: drops keyword
 * arguments. */
static void op_call(struct pickle_reader *r, int arg)
{
    struct pickle_value *args, *what, *v;

    if (arg)
        (void)pickle_pop(r);
    args = pickle_pop(r);
    what = args ? pickle_pop(r) : NULL;
    if (!what)
        return;
    v = ordered_dict(r, what, args);
    if (!v) {
        v = pickle_new(r, PICKLE_OBJECT);
        pickle_add(r, v, what);
        pickle_add(r, v, args);
    }
    pickle_push(r, v);
}

/* Adds the state of an object, such as the values of a NumPy array, as its item 2. */
static void op_build(struct pickle_reader *r, int arg)
{
    struct pickle_value *state = pickle_pop(r), *v = state ? pickle_top(r) : NULL;

    (void)arg;
    if (v && v->kind == PICKLE_OBJECT && v->item.n == 2)
        pickle_add(r, v, state);
}

static void op_ref(struct pickle_reader *r, int arg)
{
    struct pickle_value *id = pickle_pop(r), *v;

    (void)arg;
    if (!id)
        return;
    v = pickle_new(r, PICKLE_REF);
    pickle_add(r, v, id);
    GROW(r->p->ref, r->p->nref, r->p->ref_cap);
    r->p->ref[r->p->nref++] = pickle_push(r, v);
}

static void op_stop(struct pickle_reader *r, int arg)
{
    (void)arg;
    r->p->root = pickle_pop(r);
    r->stopped = true;
}

static const struct {
    void (*read)(struct pickle_reader *r, int arg);
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
    struct pickle_reader r = {.p = p, .start = data, .pos = data};
    const uint8_t *op;

    *p = (struct pickle){0};
    r.end = r.start + len;
    while (!r.stopped && !r.wrong && (op = pickle_next(&r, 1))) {
        if (opcode[*op].read)
            opcode[*op].read(&r, opcode[*op].arg);
        else
            pickle_fail(&r, "an opcode that torch.save does not write");
    }
    p->used = (size_t)(r.pos - r.start);
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

static bool holds_items(const struct pickle_value *v)
{
    return v->kind >= PICKLE_LIST && v->kind != PICKLE_GLOBAL;
}

const struct pickle_value *pickle_get(const struct pickle_value *d, const char *key)
{
    if (!d || d->kind != PICKLE_DICT)
        return NULL;
    for (size_t i = d->item.n; i; i -= 2) { /* the last value of a key wins */
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
