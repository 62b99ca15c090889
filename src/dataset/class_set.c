#include "dataset/class_set.h"

#include <fnmatch.h>
#include <string.h>

#include "dataset/class_set_rows.h"
#include "image/label.h"

#define ROAD          128, 64, 128
#define SIDEWALK      244, 35, 232
#define BUILDING      70, 70, 70
#define WALL          102, 102, 156
#define FENCE         190, 153, 153
#define POLE          153, 153, 153
#define TRAFFIC_LIGHT 250, 170, 30
#define TRAFFIC_SIGN  220, 220, 0
#define VEGETATION    107, 142, 35
#define TERRAIN       152, 251, 152
#define SKY           70, 130, 180
#define PERSON        220, 20, 60
#define RIDER         255, 0, 0
#define CAR           0, 0, 142
#define TRUCK         0, 0, 70
#define BUS           0, 60, 100
#define TRAIN         0, 80, 100
#define MOTORCYCLE    0, 0, 230
#define BICYCLE       119, 11, 32

/* clang-format off */
#define CITYSCAPES_EVALUATED                                                              \
    {"road", 7, {ROAD}}, {"sidewalk", 8, {SIDEWALK}}, {"building", 11, {BUILDING}},       \
    {"wall", 12, {WALL}}, {"fence", 13, {FENCE}}, {"pole", 17, {POLE}},                   \
    {"traffic light", 19, {TRAFFIC_LIGHT}}, {"traffic sign", 20, {TRAFFIC_SIGN}},         \
    {"vegetation", 21, {VEGETATION}}, {"terrain", 22, {TERRAIN}}, {"sky", 23, {SKY}},     \
    {"person", 24, {PERSON}}, {"rider", 25, {RIDER}}, {"car", 26, {CAR}},                 \
    {"truck", 27, {TRUCK}}, {"bus", 28, {BUS}}, {"train", 31, {TRAIN}},                   \
    {"motorcycle", 32, {MOTORCYCLE}}, {"bicycle", 33, {BICYCLE}}

#define CITYSCAPES_IDS                                                                    \
    {"unlabeled", 0, {0}}, {"ego vehicle", 1, {0}}, {"rectification border", 2, {0}},     \
    {"out of roi", 3, {0}}, {"static", 4, {0}}, {"dynamic", 5, {111, 74, 0}},             \
    {"ground", 6, {81, 0, 81}}, {"road", 7, {ROAD}}, {"sidewalk", 8, {SIDEWALK}},         \
    {"parking", 9, {250, 170, 160}}, {"rail track", 10, {230, 150, 140}},                 \
    {"building", 11, {BUILDING}}, {"wall", 12, {WALL}}, {"fence", 13, {FENCE}},           \
    {"guard rail", 14, {180, 165, 180}}, {"bridge", 15, {150, 100, 100}},                 \
    {"tunnel", 16, {150, 120, 90}}, {"pole", 17, {POLE}}, {"polegroup", 18, {POLE}},      \
    {"traffic light", 19, {TRAFFIC_LIGHT}}, {"traffic sign", 20, {TRAFFIC_SIGN}},         \
    {"vegetation", 21, {VEGETATION}}, {"terrain", 22, {TERRAIN}}, {"sky", 23, {SKY}},     \
    {"person", 24, {PERSON}}, {"rider", 25, {RIDER}}, {"car", 26, {CAR}},                 \
    {"truck", 27, {TRUCK}}, {"bus", 28, {BUS}}, {"caravan", 29, {0, 0, 90}},              \
    {"trailer", 30, {0, 0, 110}}, {"train", 31, {TRAIN}},                                 \
    {"motorcycle", 32, {MOTORCYCLE}}, {"bicycle", 33, {BICYCLE}}

#define CAMVID                                                                            \
    {"sky", 0, {128, 128, 128}}, {"building", 1, {128, 0, 0}},                            \
    {"pole", 2, {192, 192, 128}}, {"road", 3, {128, 64, 128}},                            \
    {"pavement", 4, {60, 40, 222}}, {"tree", 5, {128, 128, 0}},                           \
    {"sign-symbol", 6, {192, 128, 128}}, {"fence", 7, {64, 64, 128}},                     \
    {"car", 8, {64, 0, 128}}, {"pedestrian", 9, {64, 64, 0}},                             \
    {"bicyclist", 10, {0, 128, 192}}

#define ROWS(...) (const struct class_row[]) {__VA_ARGS__, {0}}

const struct class_set class_set_table[] = {
    {"cityscapes19", "the classes that Cityscapes evaluates (train ids 0 to 18)",
     19, ROWS(CITYSCAPES_EVALUATED), .last = 33, .has_ids = true},
    {"cityscapes20", "those of cityscapes19, and void as in ERFNet's own set-up: never a label",
     20, ROWS(CITYSCAPES_EVALUATED, {"void", -1, {0}}), .last = 33, .has_ids = true},
    {"cityscapes34", "Cityscapes' label ids 0 to 33 themselves",
     34, ROWS(CITYSCAPES_IDS), .last = 33},
    {"cityscapes35", "those of cityscapes34, and 34 for license plates, whose -1 a PNG cannot store",
     35, ROWS(CITYSCAPES_IDS, {"license plate", 34, {CAR}}), .last = 34},
    {"camvid11", "CamVid's 11 classes; 11 is void and ignored",
     11, ROWS(CAMVID), .last = 11},
    {"camvid12", "those of camvid11, and void: never a label",
     12, ROWS(CAMVID, {"void", -1, {0}}), .last = 11},
    {"voc21", "PASCAL VOC; the borders of objects (255) are ignored",
     21, ROWS(
        {"background", 0, {0}}, {"aeroplane", 1, {128, 0, 0}}, {"bicycle", 2, {0, 128, 0}},
        {"bird", 3, {128, 128, 0}}, {"boat", 4, {0, 0, 128}}, {"bottle", 5, {128, 0, 128}},
        {"bus", 6, {0, 128, 128}}, {"car", 7, {128, 128, 128}}, {"cat", 8, {64, 0, 0}},
        {"chair", 9, {192, 0, 0}}, {"cow", 10, {64, 128, 0}},
        {"diningtable", 11, {192, 128, 0}}, {"dog", 12, {64, 0, 128}},
        {"horse", 13, {192, 0, 128}}, {"motorbike", 14, {64, 128, 128}},
        {"person", 15, {192, 128, 128}}, {"pottedplant", 16, {0, 64, 0}},
        {"sheep", 17, {128, 64, 0}}, {"sofa", 18, {0, 192, 0}}, {"train", 19, {128, 192, 0}},
        {"tvmonitor", 20, {0, 64, 128}}), .last = 20},
    {"ade20k150", "ADE20K's 150 classes (values 1 to 150); 0 is none of them and ignored",
     150, ROWS(ADE20K), .last = 150, .spread = true, .files = "*/ADE_train_*"},
    {"coco_stuff171", "COCO-Stuff's 171 classes in its own values, 0 to 181 with gaps",
     171, ROWS(COCO_STUFF), .last = 181, .spread = true, .files = "*/train2017/*",
     .least = 91},
    {"loveda7", "LoveDA's 7 classes (values 1 to 7); 0 is no data and ignored",
     7, ROWS({"background", 1, {255, 255, 255}}, {"building", 2, {255, 0, 0}},
             {"road", 3, {255, 255, 0}}, {"water", 4, {0, 0, 255}},
             {"barren", 5, {159, 129, 183}}, {"forest", 6, {0, 255, 0}},
             {"agricultural", 7, {255, 195, 128}}), .last = 7, .files = "*/*loveda*/*"},
    {.name = NULL},
};
/* clang-format on */

const struct class_set *class_set_find(const char *name)
{
    for (const struct class_set *s = class_set_table; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

const struct class_set *class_set_of_files(const char *path, int top)
{
    for (const struct class_set *s = class_set_table; s->name; s++)
        if (s->files && top >= s->least && top <= s->last &&
            fnmatch(s->files, path, FNM_CASEFOLD) == 0)
            return s;
    return NULL;
}

static struct named class_set_at(const void *table, int i)
{
    const struct class_set *row = (const struct class_set *)table + i;

    return (struct named){.name = row->name, .help = row->help};
}

const struct names class_set_names = {
    .entry = class_set_at, .table = class_set_table, .empty = true};

void class_set_map(const struct class_set *s, int classes, bool train_ids,
                   uint8_t map[256])
{
    memset(map, LABEL_NONE, 256);
    for (int v = 0; s && !train_ids && v <= s->last; v++)
        map[v] = LABEL_IGNORE;
    for (int c = 0; c < (s ? s->n : classes) && c < LABEL_NONE; c++) {
        int value = s && (!train_ids || s->row[c].value < 0) ? s->row[c].value : c;

        if (value >= 0)
            map[value] = (uint8_t)c;
    }
    map[LABEL_IGNORE] = LABEL_IGNORE;
}

void class_set_add_values(const uint8_t map[256], struct strbuf *out)
{
    const char *before = "";

    for (int v = 0; v < 256; v++) {
        int start = v;

        if (map[v] == LABEL_NONE)
            continue;
        while (v < 255 && map[v + 1] != LABEL_NONE)
            v++;
        strbuf_addf(out, v > start ? "%s%d to %d" : "%s%d", before, start, v);
        before = " and ";
    }
}

void class_set_add_name(const struct class_set *s, int c, struct strbuf *out)
{
    if (s && c < s->n)
        strbuf_addstr(out, s->row[c].name);
    else
        strbuf_addf(out, "class%d", c);
}

void class_set_color(const struct class_set *s, int c, uint8_t rgb[3])
{
    memset(rgb, 0, 3);
    if (s && c < s->n && !s->spread) {
        memcpy(rgb, s->row[c].rgb, 3);
        return;
    }
    c += s && s->spread;                 /* no class is black */
    for (int bit = 7; c; bit--, c >>= 3) /* VOC's color map: spreads the bits of c */
        for (int k = 0; k < 3; k++)
            rgb[k] = (uint8_t)(rgb[k] | (c >> k & 1) << bit);
}

int class_set_value(const struct class_set *s, int c)
{
    if (s && c < s->n)
        return s->row[c].value < 0 ? 0 : s->row[c].value;
    return c;
}
