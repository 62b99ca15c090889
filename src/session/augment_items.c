#include "session/augment_items.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "config/names.h"
#include "config/records.h"
#include "image/image.h"

static const char *const replaced[] = {
    "AUG.HFLIP",  "AUG.HFLIP_MODE", "AUG.VFLIP",   "AUG.COLOR_JITTER", "AUG.AUTO_AUGMENT",
    "AUG.REPROB", "AUG.REMODE",     "AUG.RECOUNT", "AUG.ON_DEVICE"};

enum { REPLACED = sizeof(replaced) / sizeof(replaced[0]) };

bool augment_items_any(const struct config *cfg)
{
    return cfg->aug.list.n > 0;
}

bool augment_items_replace(const struct config *cfg, const char *key)
{
    for (int i = 0; i < REPLACED && augment_items_any(cfg); i++)
        if (!strcmp(replaced[i], key))
            return true;
    return false;
}

static const struct config_augment *item_of(const struct config *cfg, int i)
{
    return RECORD(cfg->aug.list, struct config_augment, i);
}

/* Returns the item's value of a field, as the configuration has it. */
static const struct float_list *value_of(const struct config_augment *c,
                                         const char *field)
{
    const struct schema *row = schema_find(record_augment, field);

    if (!row || row->type != SCHEMA_FLOAT_LIST)
        BUG("AUG.LIST has no field '%s'", field);
    return (const struct float_list *)((const char *)c + row->offset);
}

/* A number v of a symmetric field means -v to v. */
static struct augment_range range_of(const struct augment_field *f,
                                     const struct float_list *v)
{
    double last = v->n ? v->item[v->n - 1] : 0;

    if (!v->n)
        return f->def;
    if (v->n == 1 && f->symmetric)
        return (struct augment_range){-fabs(last), fabs(last)};
    return (struct augment_range){v->item[0], last};
}

/* ---- checks ------------------------------------------------------------------------ */

static bool reads(const struct augment_op *o, const char *field)
{
    for (int i = 0; i < AUGMENT_OP_FIELDS && o->field[i].name; i++)
        if (!strcmp(o->field[i].name, field))
            return true;
    return !strcmp(field, "name") || !strcmp(field, "p");
}

static void check_fields(const struct config *cfg, const struct augment_op *o, int i,
                         struct problems *p)
{
    const struct value *map = &config_get(cfg, "AUG.LIST")->list.item[i];
    struct strbuf fields = STRBUF_INIT;
    int given = 0;

    for (int k = 0; k < AUGMENT_OP_FIELDS && o->field[k].name; k++) {
        strbuf_addf(&fields, ", %s", o->field[k].name);
        given += value_of(item_of(cfg, i), o->field[k].name)->n > 0;
    }
    for (int k = 0; k < map->list.n; k += 2)
        if (!reads(o, map->list.item[k].s))
            config_blame(cfg, p, KEYS("AUG.LIST"),
                         "AUG.LIST: item %d (%s) has no field %s; its fields are name, "
                         "p%s",
                         i, o->name, map->list.item[k].s, fields.len ? fields.buf : "");
    if (o->needless && !given)
        config_blame(cfg, p, KEYS("AUG.LIST"),
                     "AUG.LIST: item %d (%s) changes nothing: set one of %s", i, o->name,
                     fields.buf + 2);
    strbuf_release(&fields);
}

static void check_value(const struct config *cfg, const struct augment_op *o, int i,
                        const struct augment_field *f, struct problems *p)
{
    const struct float_list *v = value_of(item_of(cfg, i), f->name);
    struct augment_range r = range_of(f, v);

    if (v->item && v->n != 1 && v->n != 2)
        config_blame(
            cfg, p, KEYS("AUG.LIST"),
            "AUG.LIST: item %d (%s): %s must be a number or [LEAST, MOST], not a "
            "list of %d",
            i, o->name, f->name, v->n);
    else if (!(r.lo >= f->min && r.hi <= f->max))
        config_blame(cfg, p, KEYS("AUG.LIST"),
                     "AUG.LIST: item %d (%s): %s must be in [%g, %g], not %g", i, o->name,
                     f->name, f->min, f->max, r.hi <= f->max ? r.lo : r.hi);
    else if (!(r.lo <= r.hi))
        config_blame(cfg, p, KEYS("AUG.LIST"),
                     "AUG.LIST: item %d (%s): %s must not decrease: [%g, %g]", i, o->name,
                     f->name, r.lo, r.hi);
    else if (f->integer && (r.lo != rint(r.lo) || r.hi != rint(r.hi)))
        config_blame(cfg, p, KEYS("AUG.LIST"),
                     "AUG.LIST: item %d (%s): %s must be whole numbers, not %g", i,
                     o->name, f->name, r.lo != rint(r.lo) ? r.lo : r.hi);
}

static void check_item(const struct config *cfg, int i, bool label_maps,
                       struct problems *p)
{
    const struct augment_op *o = augment_op_find(item_of(cfg, i)->name);
    struct strbuf why = STRBUF_INIT;

    if (!names_known(&augment_op_names, item_of(cfg, i)->name, &why))
        config_blame(cfg, p, KEYS("AUG.LIST"), "AUG.LIST: the name of item %d %s", i,
                     why.buf);
    strbuf_release(&why);
    if (!o)
        return;
    check_fields(cfg, o, i, p);
    for (int k = 0; k < AUGMENT_OP_FIELDS && o->field[k].name; k++)
        check_value(cfg, o, i, &o->field[k], p);
    if (o->whole_images && label_maps)
        config_blame(
            cfg, p, KEYS("AUG.LIST"),
            "AUG.LIST: item %d (%s) is not for label maps, which would no longer "
            "fit",
            i, o->name);
    if (o->colors && cfg->model.in_chans != 1 && cfg->model.in_chans != IMAGE_RGB)
        config_blame(cfg, p, KEYS("AUG.LIST"),
                     "AUG.LIST: item %d (%s) is for gray and RGB images, and "
                     "MODEL.IN_CHANS is %lld",
                     i, o->name, (long long)cfg->model.in_chans);
}

void augment_items_check(const struct config *cfg, bool label_maps, struct problems *p)
{
    if (!augment_items_any(cfg))
        return;
    if (cfg->aug.list.n > AUGMENT_LIST_ITEMS)
        config_blame(cfg, p, KEYS("AUG.LIST"), "AUG.LIST has %d items, more than %d",
                     cfg->aug.list.n, AUGMENT_LIST_ITEMS);
    for (int i = 0; i < cfg->aug.list.n; i++)
        check_item(cfg, i, label_maps, p);
    for (int i = 0; i < REPLACED; i++)
        config_warn_unread(cfg, p, replaced[i], "AUG.LIST takes its place");
}

void augment_items_of_config(const struct config *cfg, struct augment_list *l)
{
    l->n = cfg->aug.list.n < AUGMENT_LIST_ITEMS ? cfg->aug.list.n : AUGMENT_LIST_ITEMS;
    for (int i = 0; i < l->n; i++) {
        const struct config_augment *c = item_of(cfg, i);
        const struct augment_op *o = augment_op_find(c->name);
        struct augment_item *item = &l->item[i];

        if (!o)
            usage("AUG.LIST: there is no operation '%s'", c->name);
        *item = (struct augment_item){.op = o, .p = c->p.has ? c->p.value : o->p};
        for (int k = 0; k < AUGMENT_OP_FIELDS && o->field[k].name; k++)
            item->value[k] = range_of(&o->field[k], value_of(c, o->field[k].name));
    }
}
