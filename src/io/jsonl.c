#include "io/jsonl.h"

struct cut {
    const char *key;
    int64_t last;
};

static bool keep_line(const char *line, void *arg)
{
    const struct cut *cut = arg;
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse(line, strlen(line), &why);
    const json_t *ptr = json_object_get(root, cut->key);
    bool keep = json_is_integer(ptr) && json_integer_value(ptr) <= cut->last;

    json_decref(root);
    strbuf_release(&why);
    return keep;
}

void jsonl_open(struct jsonl *j, const char *path, const char *key, int64_t last)
{
    struct cut cut = {key, last};

    *j = (struct jsonl){.line = STRBUF_INIT};
    lines_open(&j->lines, path, last < 0 ? NULL : keep_line, &cut);
}

struct json_writer *jsonl_begin(struct jsonl *j)
{
    j->writer = json_writer(&j->line);
    json_begin_object(&j->writer, NULL);
    return &j->writer;
}

void jsonl_end(struct jsonl *j)
{
    json_end(&j->writer);
    lines_add(&j->lines, &j->line);
}

void jsonl_close(struct jsonl *j)
{
    lines_close(&j->lines);
    strbuf_release(&j->line);
}
