#include "dataset/label.h"

#include "dataset/class_set.h"

/* Maps all values in place. Stops at a value that is not a class and returns its index;
 * otherwise returns -1. */
static int64_t label_map(struct label_reader *r, const uint8_t map[256], int *value)
{
    int64_t n = (int64_t)r->w * r->h, bad = 0;

    for (int64_t i = 0; i < n; i++)
        bad += map[r->pixel[i]] == LABEL_NONE;
    for (int64_t i = 0; i < n; i++) {
        *value = r->pixel[i];
        if (bad && map[*value] == LABEL_NONE)
            return i;
        r->pixel[i] = map[*value];
    }
    return -1;
}

int dataset_label_map(const struct dataset *d, int64_t i,
                      const struct image_limits *limits, struct dataset_bytes *bytes,
                      struct label_reader *r, struct strbuf *why)
{
    struct strbuf name = STRBUF_INIT, reason = STRBUF_INIT;
    int value = 0, rc = dataset_read_label(d, i, limits->max_bytes, bytes, &reason);
    const struct label_colors *colors = d->set ? d->set->colors : NULL;
    int64_t pos;

    if (rc == 0)
        rc = colors
                 ? label_read_colors(r, colors, bytes->data, bytes->len, limits, &reason)
                 : label_read(r, bytes->data, bytes->len, limits, &reason);
    if (rc == 0 && (pos = label_map(r, d->map, &value)) >= 0) {
        strbuf_addf(&reason,
                    "the value %d at pixel (x %lld, y %lld) is not a class: ", value,
                    (long long)(pos % r->w), (long long)(pos / r->w));
        strbuf_addf(&reason, "%s has ", d->set ? d->set->name : "the data set");
        class_set_add_values(d->map, &reason);
        strbuf_addstr(&reason, "; DATA.LABEL_MAP can change or ignore values");
        rc = -1;
    }
    if (rc < 0) {
        dataset_describe_label(d, i, &name);
        strbuf_addf(why, "its label '%s': %s", name.buf, reason.buf);
    }
    strbuf_release(&name);
    strbuf_release(&reason);
    return rc;
}

void dataset_add_label_meaning(const struct dataset *d, struct strbuf *out)
{
    const struct label_colors *c = d->set ? d->set->colors : NULL;

    strbuf_add(out, d->map, sizeof(d->map));
    for (int i = 0; c && i < c->n; i++)
        strbuf_addf(out, " #%06x %d", (unsigned)c->item[i].rgb, c->item[i].value);
    if (c && c->others)
        strbuf_addstr(out, " others");
}
