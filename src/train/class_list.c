#include "train/class_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "dataset/dataset.h"
#include "io/json.h"

void class_list_put(const struct class_list *l, struct strbuf *text)
{
    struct json_writer w = json_writer(text);

    json_begin_array(&w, NULL);
    for (int i = 0; i < l->n; i++)
        json_put_string(&w, NULL, l->name[i]);
    json_end(&w);
}

void class_list_check(const char *path, const char *text, const char *what,
                      const struct class_list *want, bool strict)
{
    struct strbuf why = STRBUF_INIT;
    json_t *list = text ? json_parse(text, strlen(text), &why) : NULL;
    int n = (int)json_array_size(list);
    const char **name;

    if (text && !json_is_array(list))
        die("'%s': invalid list of classes", path);
    name = xcalloc((size_t)n + 1, sizeof(*name));
    for (int i = 0; i < n; i++) {
        name[i] = json_string_value(json_array_get(list, (size_t)i));
        if (!name[i])
            die("'%s': its class %d has no name", path, i);
    }
    if (n && want && want->n &&
        !dataset_same_classes(path, name, n, what, want->name, want->n, &why)) {
        if (strict)
            die("%s (set DATA.CHECK_CLASSES False to ignore this)", why.buf);
        warn("%s", why.buf);
    }
    json_decref(list);
    free(name);
    strbuf_release(&why);
}
