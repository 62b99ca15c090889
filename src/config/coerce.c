#include "config/coerce.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/suggest.h"
#include "config/argword.h"
#include "config/literal.h"
#include "config/schema.h"
#include "config/yaml.h"

enum { SHOWN = 200 }; /* maximum length of a value in a message */

static const double exact = 9007199254740992.0; /* 2^53 */

static const char *article(enum value_type type)
{
    return type == VALUE_INT || type == VALUE_OTHER ? "an " : "a ";
}

/* Returns the literal that a text stands for, for keys other than texts. */
static struct value meaning(struct arena *a, const struct value *in)
{
    return in->type == VALUE_STR ? literal_parse(a, in->s) : *in;
}

/* Appends "an int, not 3.5 (a float)" or "an int, not 'x'"; returns false. */
static bool refuse(const char *wanted, const struct value *in, struct strbuf *why)
{
    struct arena mem = {0};
    struct value v = in->quoted ? *in : meaning(&mem, in);
    struct strbuf shown = STRBUF_INIT;

    strbuf_addf(why, "%s, not ", wanted);
    if (v.text && v.type != VALUE_STR)
        strbuf_addstr(&shown, v.text);
    else
        value_add_repr(&shown, &v);
    strbuf_addf(why, shown.len > SHOWN ? "%.*s..." : "%.*s", SHOWN, shown.buf);
    strbuf_release(&shown);
    if (v.type == VALUE_OTHER && argword_is_number(in->text ? in->text : ""))
        strbuf_addstr(why, " (beyond 64 bits)");
    else if (v.type != VALUE_STR && v.type != VALUE_NONE && v.type != VALUE_NODE)
        strbuf_addf(why, " (%s%s)", article(v.type), value_type_name(v.type));
    arena_release(&mem);
    return false;
}

/* Removes one layer of quotes, as Python's literal_eval would. */
static struct value unquote(struct arena *a, const struct value *in)
{
    size_t len = strlen(in->text);
    struct value v = {.type = VALUE_NONE};

    if (len >= 2 && (in->text[0] == '\'' || in->text[0] == '"') &&
        in->text[len - 1] == in->text[0])
        v = literal_parse(a, in->text);
    return v.type == VALUE_STR ? v : value_str(a, in->text);
}

static bool to_str(struct arena *a, const struct value *in, struct value *out,
                   struct strbuf *why)
{
    if (in->type == VALUE_LIST || in->type == VALUE_TUPLE ||
        (!in->text && in->type != VALUE_STR))
        return refuse("a str", in, why);
    *out = in->text ? unquote(a, in) : value_copy(a, in);
    return true;
}

static bool to_bool(struct arena *a, const struct value *in, struct value *out,
                    struct strbuf *why)
{
    static const char *const word[] = {"false", "true", "no", "yes", "off", "on"};
    struct value v = meaning(a, in);

    for (int i = 0; i < 6 && v.type == VALUE_STR; i++)
        if (!strcasecmp(v.s, word[i]))
            v = value_bool(i % 2);
    if (v.type != VALUE_BOOL)
        return refuse("a bool (True or False)", in, why);
    *out = value_bool(v.b);
    return true;
}

static bool to_int(struct arena *a, const struct decl *d, const struct value *in,
                   struct value *out, struct strbuf *why)
{
    struct value v = meaning(a, in);
    struct strbuf wanted = STRBUF_INIT;
    bool word = d->word && v.type == VALUE_STR && !strcmp(v.s, d->word);

    strbuf_addf(&wanted, "an int%s%s", d->word ? " or " : "", d->word ? d->word : "");
    if (word)
        *out = value_str(a, d->word);
    else if (v.type == VALUE_INT)
        *out = value_int(v.i);
    else
        (void)refuse(wanted.buf, in, why);
    strbuf_release(&wanted);
    return word || v.type == VALUE_INT;
}

/* Parses nan, inf, and infinity in any case and with a sign, as Python's float() does. */
static bool named_float(const char *s, double *f)
{
    char *end;

    s += strspn(s, " \t\n");
    if (strspn(s, "+-") > 1 || !strchr("nNiI", s[strspn(s, "+-")]) || strchr(s, '('))
        return false;
    *f = strtod(s, &end);
    return end != s && !end[strspn(end, " \t\n")];
}

static bool to_float(struct arena *a, const struct value *in, struct value *out,
                     struct strbuf *why)
{
    struct value v = meaning(a, in);

    if (v.type == VALUE_STR && named_float(v.s, &v.f))
        v.type = VALUE_FLOAT;
    if (v.type == VALUE_INT && fabs((double)v.i) < exact)
        v = value_float((double)v.i);
    if (v.type != VALUE_FLOAT)
        return refuse("a float", in, why);
    *out = value_float(v.f);
    return true;
}

/* Returns the length of a quoted text including its quotes, or 0 if it is not closed. */
static size_t quoted(const char *s, const char *end)
{
    for (const char *c = s + 1; c < end; c++) {
        if (*c == '\\')
            c++;
        else if (*c == *s)
            return (size_t)(c + 1 - s);
    }
    return 0;
}

/* Parses the list item at *s, up to its comma, and moves *s past the comma. Returns
 * false if it is not a single word. */
static bool word(struct arena *a, const char **s, const char *end, struct value *out)
{
    const char *src = *s + strspn(*s, " \t"), *dst, *next;
    bool quotes = src < end && (*src == '\'' || *src == '"');
    size_t len = quotes ? quoted(src, end) : 0;
    char *w;

    next = src + len + strcspn(src + len, ",");
    next = next < end ? next : end;
    for (dst = next; dst > src && (dst[-1] == ' ' || dst[-1] == '\t');)
        dst--;
    w = arena_copy(a, src, (size_t)(dst - src) + 1);
    w[dst - src] = '\0';
    *s = next + 1;
    *out = (struct value){.type = VALUE_STR, .text = w, .s = w};
    if (!quotes)
        return !strpbrk(w, "'\"()[]");
    *out = literal_parse(a, w);
    return len == (size_t)(dst - src) && out->type == VALUE_STR;
}

/*
 * Parses a,b or [a, b] or [a, 'b c'], in which words may lack quotes, unlike in Python.
 * Only for texts; a comma or bracket makes it a list.
 */
static bool words(struct arena *a, const char *s, struct value *out)
{
    size_t len = strlen(s);
    struct value list = value_list(a, VALUE_LIST, (int)len + 1);
    const char *end = s + len;
    int n = 0;

    if (!strchr(s, ',') && *s != '[')
        return false;
    if (*s == '[' && s[len - 1] != ']')
        return false;
    if (*s == '[') {
        s++;
        end--;
    }
    for (; s < end; n++) {
        if (!word(a, &s, end, &list.list.item[n]))
            return false;
        if (!*list.list.item[n].text && (s <= end || !n))
            return false; /* only a trailing comma may have nothing after it */
        n -= !*list.list.item[n].text;
    }
    list.list.n = n;
    *out = list;
    return true;
}

/* Parses a list of mappings on the command line, [{at: epoch, run: x}]. Returns other
 * texts unchanged. */
static struct value mappings(struct arena *a, const struct value *in)
{
    char *text = xasprintf("x: %s", in->s);
    struct problems p = {0};
    struct cfgnode *n = yaml_read_text(text, strlen(text), "", &p);
    const struct cfgnode_entry *e = n ? cfgnode_entry(n, "x") : NULL;
    struct value v = e && !e->node && !p.nerror ? value_copy(a, &e->value) : *in;

    cfgnode_free(n);
    problems_release(&p);
    free(text);
    return v;
}

static bool unknown(const struct schema *record, const char *key, struct strbuf *why)
{
    struct suggest s;

    suggest_init(&s, key);
    strbuf_addf(why, "a dict of ");
    for (const struct schema *row = record; row->key; row++) {
        strbuf_addf(why, "%s%s", row > record ? ", " : "", row->key);
        suggest_try(&s, row->key);
    }
    strbuf_addf(why, ", not of '%s'", key);
    if (s.best)
        strbuf_addf(why, " (did you mean %s?)", s.best);
    return false;
}

static bool to_map(struct arena *a, const struct decl *d, const struct value *in,
                   struct value *out, struct strbuf *why)
{
    struct value map = *in;

    if (in->type != VALUE_MAP)
        return refuse("a dict", in, why);
    map = value_copy(a, in);
    for (int i = 0; d->record && i < map.list.n; i += 2) { /* else any fields */
        const char *key = map.list.item[i].s;
        const struct schema *row = schema_find(d->record, key);
        struct value *v = &map.list.item[i + 1];
        struct strbuf item = STRBUF_INIT;
        struct decl field;
        bool ok;

        if (!row)
            return unknown(d->record, key, why);
        field = schema_decl(row);
        ok = coerce(a, &field, v, v, &item);
        if (!ok)
            strbuf_addf(why, "a dict: field %s must be %s", key, item.buf);
        strbuf_release(&item);
        if (!ok)
            return false;
    }
    *out = map;
    return true;
}

/* Converts [1, 2] to "1 2". Returns false if it is not a list of ints. */
static bool to_numbers(struct arena *a, const struct value *in, struct value *out)
{
    struct strbuf s = STRBUF_INIT;
    bool numbers = in->type == VALUE_LIST || in->type == VALUE_TUPLE;

    for (int i = 0; numbers && i < in->list.n; i++) {
        const struct value *v = &in->list.item[i];

        numbers = v->type == VALUE_INT;
        strbuf_addf(&s, "%s%" PRId64, i ? " " : "", numbers ? v->i : 0);
    }
    if (numbers)
        *out = value_str(a, s.buf ? s.buf : "");
    strbuf_release(&s);
    return numbers;
}

static struct value list_of_one(struct arena *a, const struct value *item)
{
    struct value list = value_list(a, VALUE_LIST, 1);

    list.list.item[0] = *item;
    return list;
}

static bool to_list(struct arena *a, const struct decl *d, const struct value *in,
                    struct value *out, struct strbuf *why)
{
    struct decl item = {.type = d->item, .item = d->item2, .record = d->record};
    struct value v, list;

    /* In lists of texts each word is a text: [0, yes], as YAML's plain items. */
    if (in->type == VALUE_STR && (d->item == VALUE_MAP || d->item == VALUE_OTHER))
        v = mappings(a, in);
    else if (in->type != VALUE_STR || d->item != VALUE_STR || !words(a, in->s, &v))
        v = meaning(a, in);
    if (v.type == VALUE_STR && d->words) {
        *out = value_copy(a, &v);
        return true;
    }
    if (d->single && (v.type == VALUE_INT || v.type == VALUE_FLOAT))
        v = list_of_one(a, &v);
    if (v.type != VALUE_LIST && v.type != VALUE_TUPLE) {
        struct strbuf wanted = STRBUF_INIT;

        strbuf_addf(&wanted, "a %s%s of %s", d->single ? "float or a " : "",
                    value_type_name(d->type),
                    d->item == VALUE_OTHER ? "layers" : value_type_name(d->item));
        (void)refuse(wanted.buf, in, why);
        strbuf_release(&wanted);
        return false;
    }
    list = value_list(a, d->type, v.list.n);
    for (int i = 0; i < v.list.n; i++) {
        struct strbuf item_why = STRBUF_INIT;
        bool ok = (d->numbers && to_numbers(a, &v.list.item[i], &list.list.item[i])) ||
                  coerce(a, &item, &v.list.item[i], &list.list.item[i], &item_why);

        if (!ok)
            strbuf_addf(why, "a %s: item %d must be %s", value_type_name(d->type), i,
                        item_why.buf);
        if (ok && list.list.item[i].type == VALUE_NONE) {
            strbuf_addf(why, "a %s: item %d is None", value_type_name(d->type), i);
            ok = false;
        }
        strbuf_release(&item_why);
        if (!ok)
            return false;
    }
    *out = list;
    return true;
}

/* True if a value means None: for a text key only the word None, for others whatever
 * Python reads as None. */
static bool is_none(struct arena *a, const struct decl *d, const struct value *in)
{
    if (in->type != VALUE_STR)
        return in->type == VALUE_NONE;
    if (d->type == VALUE_STR)
        return !in->quoted && !strcmp(in->s, "None");
    return meaning(a, in).type == VALUE_NONE;
}

bool coerce(struct arena *a, const struct decl *d, const struct value *in,
            struct value *out, struct strbuf *why)
{
    bool ok = true;
    struct value v = value_none();

    if (in->type == VALUE_NODE) {
        strbuf_addf(why, "%s%s, not a section", article(d->type),
                    value_type_name(d->type));
        return false;
    }
    if (!is_none(a, d, in)) {
        switch (d->type) {
        case VALUE_STR:
            ok = to_str(a, in, &v, why);
            break;
        case VALUE_BOOL:
            ok = to_bool(a, in, &v, why);
            break;
        case VALUE_INT:
            ok = to_int(a, d, in, &v, why);
            break;
        case VALUE_FLOAT:
            ok = to_float(a, in, &v, why);
            break;
        case VALUE_LIST:
        case VALUE_TUPLE:
            ok = to_list(a, d, in, &v, why);
            break;
        case VALUE_MAP:
            ok = to_map(a, d, in, &v, why);
            break;
        case VALUE_OTHER:
            v = value_copy(a, in);
            break;
        default:
            BUG("a key of type %s", value_type_name(d->type));
        }
    }
    if (!ok)
        return false;
    v.text = in->text ? arena_strdup(a, in->text) : NULL;
    v.quoted = in->quoted;
    v.line = in->line;
    *out = v;
    return true;
}
