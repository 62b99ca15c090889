#include "dataset/members.h"

#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "image/image.h"

/* Has the sample an image, and lacks what others have? */
static bool members_lacks(const struct members *m)
{
    bool whole = m->samples->label_maps ? m->label_map.len > 0 : m->label >= 0;

    return m->name && m->labelled && !whole;
}

/* The sample that was lost is this one, or one before it. */
static void members_find_lost(struct members *m)
{
    if (m->lost && members_lacks(m))
        m->label = SAMPLE_DAMAGED;
    else if (m->lost)
        samples_add(m->samples, m->lost)->label = SAMPLE_DAMAGED;
    free(m->lost);
    m->lost = NULL;
}

static void members_flush(struct members *m)
{
    if (m->key)
        members_find_lost(m);
    if (m->name) {
        struct sample *to = samples_add(m->samples, m->name);

        to->image = m->image;
        to->label_map = m->label_map;
        to->label = m->label;
    }
    free(m->key);
    free(m->name);
    m->key = m->name = NULL;
    m->image = m->label_map = (struct sample_part){0};
    m->label = -1;
}

static const char *members_dot(const char *name)
{
    const char *slash = strrchr(name, '/'), *dot = strchr(slash ? slash + 1 : name, '.');

    return dot ? dot : name + strlen(name);
}

/* "7\n" -> 7 */
static int members_class(struct members *m, const struct sample_part *part,
                         struct strbuf *why)
{
    struct dataset_bytes bytes = {0};
    char text[16] = "", *end = text;
    long v = -1;

    if (part->len == 0 || part->len >= sizeof(text)) {
        strbuf_addf(why, "%llu bytes are no class", (unsigned long long)part->len);
        return -1;
    }
    if (m->read(m->file, part, sizeof(text) - 1, &bytes, why) < 0)
        return -1;
    memcpy(text, bytes.data, bytes.len);
    dataset_bytes_release(&bytes);
    v = strtol(text, &end, 10);
    if (end == text || end[strspn(end, " \r\n")] || v < 0 || v > INT32_MAX) {
        strbuf_addf(why, "'%s' is no class", text);
        return -1;
    }
    m->label = (int32_t)v;
    m->labelled = true;
    return 0;
}

static bool members_is_label_map(const char *kind)
{
    static const char *const kinds[] = {".seg.png", ".mask.png", ".seg.pgm", ".mask.pgm"};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

const char *members_name(struct archive_entry *e)
{
    const char *name = archive_entry_pathname(e);

    if (!name)
        name = archive_entry_pathname_utf8(e);
    if (!name || archive_entry_filetype(e) != AE_IFREG || *path_basename(name) == '.')
        return NULL;
    return name;
}

int members_add(struct members *m, const char *name, const struct sample_part *part,
                struct strbuf *why)
{
    const char *kind = members_dot(name);
    size_t n = (size_t)(kind - name);

    if (!m->key || strncmp(m->key, name, n) != 0 || m->key[n]) {
        members_flush(m);
        m->key = xstrndup(name, n);
    }
    if (strcmp(kind, ".cls") == 0) {
        if (members_class(m, part, why) < 0) {
            strbuf_addf(why, " in '%s'", name);
            return -1;
        }
    } else if (members_is_label_map(kind)) {
        m->label_map = *part;
        m->labelled = true;
    } else if (image_has_extension(name) && !m->name) {
        m->image = *part;
        m->name = xstrdup(name);
    }
    return 0;
}

void members_lose(struct members *m, const char *name)
{
    if (members_lacks(m)) {
        m->label = SAMPLE_DAMAGED;
        name = NULL;
    }
    members_flush(m);
    if (name)
        m->lost = xstrdup(name);
}

void members_end(struct members *m)
{
    members_flush(m);
    members_find_lost(m);
}
