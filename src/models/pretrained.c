#include "models/pretrained.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "models/table.h"

static bool begins(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

static const struct pretrained_renamed *find_renamed(const char *name, size_t len)
{
    for (const struct pretrained_renamed *r = pretrained_renamed_table; r->old; r++)
        if (strlen(r->old) == len && !memcmp(r->old, name, len))
            return r;
    return NULL;
}

const char *pretrained_now(const char *name)
{
    const struct pretrained_renamed *r = find_renamed(name, strlen(name));

    return r ? r->name : name;
}

char *pretrained_repository(const struct pretrained *p)
{
    static const char word[] = "_quickgelu";
    const char *cursor = strstr(p->name, word);

    if (!cursor)
        return xstrdup(p->name);
    return xasprintf("%.*s%s", (int)(cursor - p->name), p->name, cursor + strlen(word));
}

const struct pretrained *pretrained_find(const char *name, size_t len)
{
    const struct pretrained_renamed *old = find_renamed(name, len);
    bool tagged = old || memchr(name, '.', len) != NULL;

    if (old) {
        name = old->name;
        len = strlen(name);
    }
    for (const struct pretrained *p = pretrained_table; p->name; p++) {
        size_t n = tagged ? strlen(p->name) : strcspn(p->name, ".");

        if (n == len && !memcmp(p->name, name, n))
            return p;
    }
    return NULL;
}

/* Finds weights by the last part of their URL. */
static const struct pretrained *find_file(const char *file)
{
    for (const struct pretrained *p = pretrained_table; p->name; p++) {
        const char *last = strrchr(p->url, '/');

        if (last && !strcmp(last + 1, file))
            return p;
    }
    return NULL;
}

static bool is_weights_name(const char *text)
{
    static const char *const end[] = {".pth",         ".pt",   ".bin", ".tar",
                                      ".safetensors", ".ckpt", ".onnx"};
    const char *dot = strrchr(text, '.');

    for (size_t i = 0; dot && i < sizeof(end) / sizeof(end[0]); i++)
        if (!strcmp(dot, end[i]))
            return true;
    return false;
}

/* True if a model has the name before the first dot. */
static bool is_model(const char *name, size_t len)
{
    size_t arch = 0;

    while (arch < len && name[arch] != '.')
        arch++;
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            if (strlen(m->name) == arch && !memcmp(m->name, name, arch))
                return true;
    return false;
}

static const char *nearest(const char *name)
{
    struct suggest s;

    suggest_init(&s, name);
    for (const struct pretrained *p = pretrained_table; p->name; p++)
        suggest_try(&s, p->name);
    for (const struct pretrained_renamed *r = pretrained_renamed_table; r->old; r++)
        suggest_try(&s, r->old);
    for (int i = 0; model_families[i]; i++)
        for (const struct model *m = model_families[i]->models; m->name; m++)
            if (pretrained_find(m->name, strlen(m->name)))
                suggest_try(&s, m->name);
    return s.best;
}

static void say_unknown(struct strbuf *why, const char *name, size_t len)
{
    struct strbuf text = STRBUF_INIT;
    const char *suggestion;

    strbuf_addf(&text, "%.*s", (int)len, name);
    suggestion = nearest(text.buf);
    strbuf_addf(why, "there are no public weights '%s'", text.buf);
    if (suggestion)
        strbuf_addf(why, " (did you mean %s?)", suggestion);
    strbuf_addstr(why, "; 'trainc models --pretrained' lists them");
    strbuf_release(&text);
}

void pretrained_suggest(const char *text, struct strbuf *why)
{
    const char *suggestion;

    if (is_weights_name(text) || strchr(text, '/'))
        return;
    suggestion = nearest(text);
    strbuf_addstr(why, ", and there are no public weights of that name");
    if (suggestion)
        strbuf_addf(why, " (did you mean %s?)", suggestion);
    strbuf_addstr(why, "; 'trainc models --pretrained' lists them");
}

/* True if it is a valid path component: letters, digits, - _ . but not "." or "..". */
static bool is_part(const char *text, size_t len)
{
    static const char part[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789-_.";

    return len && strspn(text, part) >= len && strspn(text, ".") < len;
}

/* True for valid path components separated by slashes. */
static bool is_revision(const char *text)
{
    size_t len = strcspn(text, "/");

    return is_part(text, len) && (!text[len] || is_revision(text + len + 1));
}

/* "OWNER/NAME[@REVISION]" */
static bool parse_hub(const char *text, struct pretrained_request *r, struct strbuf *why)
{
    size_t len = strcspn(text, "@");
    const char *slash = memchr(text, '/', len);

    if (text[len])
        r->revision = text + len + 1;
    if (!slash || !is_part(text, (size_t)(slash - text)) ||
        !is_part(slash + 1, len - (size_t)(slash + 1 - text)) ||
        (r->revision && !is_revision(r->revision))) {
        strbuf_addf(why, "'%s' is no OWNER/NAME[@REVISION] of the hub", text);
        return false;
    }
    if (begins(text, "timm/"))
        r->row = pretrained_find(slash + 1, len - 5);
    if (r->row)
        return true;
    r->hub = text;
    r->hub_len = (int)len;
    return true;
}

bool pretrained_parse(const char *text, const char *model, struct pretrained_request *r,
                      struct strbuf *why)
{
    bool automatic = !strcmp(text, PRETRAINED_AUTO);
    const char *name = automatic ? model : text;

    *r = (struct pretrained_request){0};
    if (begins(text, "hf-hub:") || begins(text, "hf_hub:"))
        return parse_hub(text + 7, r, why);
    if (begins(text, "local-dir:")) {
        r->dir = text + 10;
        return true;
    }
    if (!automatic && access(text, F_OK) == 0)
        return false;
    if (begins(text, "timm/"))
        return parse_hub(text, r, why);
    r->row =
        is_weights_name(text) ? find_file(text) : pretrained_find(name, strlen(name));
    if (r->row)
        return true;
    if (automatic || is_model(name, strlen(name)))
        say_unknown(why, name, strlen(name));
    return false;
}
