#include "dataset/member_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/class_value.h"

static const char *const keys[] = {"label", "cls", "class", "class_id", "category"};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static void hint(struct samples *s, const char *name, const json_t *value)
{
    struct strbuf has = STRBUF_INIT;
    const char *key;
    json_t *unused;
    int n = 0;

    if (s->hint)
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, unused) if (n++ < 8)
        strbuf_addf(&has, "%s'%.40s'", n > 1 ? ", " : "", key);
    s->hint =
        xasprintf("'%s' has %s%s: expected a class in 'label', 'cls', or 'class' (a "
                  "number, a name, or a one-hot list)",
                  path_basename(name), json_is_object(value) ? "the keys " : "no object",
                  n                       ? has.buf
                  : json_is_object(value) ? "of an empty object"
                                          : "");
    strbuf_release(&has);
}

static void list_label(struct sample *dst, const json_t *list)
{
    size_t n = json_array_size(list);
    double *v = xcalloc(n + 1, sizeof(*v));
    bool numbers = true;

    for (size_t i = 0; i < n; i++) {
        const json_t *ptr = json_array_get(list, i);

        numbers = numbers && json_is_number(ptr);
        v[i] = json_number_value(ptr);
    }
    if (numbers)
        dst->label = n == 1 ? class_of_number(v[0]) : class_of_one_hot(v, n);
    free(v);
}

void member_json_label(struct samples *s, struct sample *dst, const char *name,
                       const struct dataset_bytes *b)
{
    json_error_t e;
    json_t *all = json_loadb((const char *)b->data, b->len, JSON_DECODE_ANY, &e);
    const json_t *value = all;

    if (!all) {
        samples_damage(s, dst, "%s is no JSON: %s", path_basename(name), e.text);
        return;
    }
    for (int k = 0; json_is_object(value) && k < KEYS; k++)
        if (json_object_get(value, keys[k]))
            value = json_object_get(value, keys[k]);
    if (json_is_number(value))
        dst->label = class_of_number(json_number_value(value));
    else if (json_is_array(value))
        list_label(dst, value);
    else if (json_is_string(value))
        class_of_text(s, dst, json_string_value(value), json_string_length(value),
                      path_basename(name));
    if (dst->label == SAMPLE_NO_LABEL)
        hint(s, name, all);
    json_decref(all);
}
