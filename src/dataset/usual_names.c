#include "dataset/usual_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"

static const char *const system_names[] = {"__MACOSX",    "@eaDir",
                                           "@Recycle",    "#recycle",
                                           "#snapshot",   "$RECYCLE.BIN",
                                           "lost+found",  "Thumbs.db",
                                           "ehthumbs.db", "desktop.ini",
                                           "Desktop.ini", "RECYCLER",
                                           "__pycache__", "System Volume Information"};

static const char *const image_words[] = {
    "images", "image",    "imgs",    "img",    "data", "photos",
    "photo",  "pictures", "picture", "pics",   "rgb",  "jpegimages",
    "jpegs",  "inputs",   "input",   "frames", NULL};
static const char *const label_words[] = {"masks",
                                          "mask",
                                          "labels",
                                          "label",
                                          "annotations",
                                          "annotation",
                                          "annots",
                                          "annot",
                                          "anns",
                                          "ann",
                                          "gt",
                                          "gts",
                                          "groundtruth",
                                          "segmentations",
                                          "segmentation",
                                          "segs",
                                          "seg",
                                          "segmentationclass",
                                          "targets",
                                          "target",
                                          "labelmaps",
                                          "stuffthingmaps",
                                          NULL};
const char *const usual_train_words[] = {"train", "training", "trn", NULL};
const char *const usual_val_words[] = {"val", "valid", "validation", "dev", "eval", NULL};
const char *const usual_test_words[] = {"test", "testing", "tst", NULL};

/* Meanings of words, in lookup order. */
static const struct word_list {
    const char *const *word;
    enum usual_role role;
    enum usual_split split;
} word_lists[] = {
    {image_words, USUAL_IMAGES, USUAL_NO_SPLIT},
    {label_words, USUAL_LABELS, USUAL_NO_SPLIT},
    {usual_train_words, USUAL_OTHER, USUAL_TRAIN},
    {usual_val_words, USUAL_OTHER, USUAL_VAL},
    {usual_test_words, USUAL_OTHER, USUAL_TEST},
};
enum { WORD_LISTS = sizeof(word_lists) / sizeof(*word_lists) };

bool usual_is_system(const char *name)
{
    bool is = name[0] == '.';

    for (size_t i = 0; i < sizeof(system_names) / sizeof(*system_names) && !is; i++)
        is = strcmp(name, system_names[i]) == 0;
    return is;
}

bool usual_path_is_system(const char *path)
{
    bool is = false;

    for (const char *cursor = path; cursor && !is;
         cursor = strchr(cursor, '/'), cursor = cursor ? cursor + 1 : NULL) {
        size_t n = strcspn(cursor, "/"), dots = strspn(cursor, ".");
        char *part = xstrndup(cursor, n);

        is = dots < n && usual_is_system(part);
        free(part);
    }
    return is;
}

/* Returns the list with the word, or NULL. Digits may follow a split: "train2017". */
static const struct word_list *find_word(const char *text, size_t n)
{
    size_t letters = n;

    while (letters && isdigit((unsigned char)text[letters - 1]))
        letters--;
    for (int i = 0; i < WORD_LISTS; i++)
        for (const char *const *word = word_lists[i].word; *word; word++)
            if (strlen(*word) == (word_lists[i].split ? letters : n) &&
                strncasecmp(*word, text, strlen(*word)) == 0)
                return &word_lists[i];
    return NULL;
}

/* Adds a word to *w. Returns false if there are two words for a split or `rest` is
 * full. */
static bool add_word(struct usual_words *w, const char *text, size_t n)
{
    const struct word_list *l = find_word(text, n);
    size_t used = strlen(w->rest);

    if (l && l->split) {
        if (w->split || n >= sizeof(w->split_word))
            return false;
        w->split = l->split;
        memcpy(w->split_word, text, n);
        return true;
    }
    if (l && (!w->role || w->role == l->role)) {
        w->role = l->role;
        return true;
    }
    if (l && (w->role == USUAL_LABELS || l->role == USUAL_LABELS)) {
        w->role = USUAL_LABELS; /* "image_labels", "data/masks" */
        return true;
    }
    if (used + n + 2 > sizeof(w->rest))
        return false;
    w->rest[used++] = ' ';
    for (size_t i = 0; i < n; i++)
        w->rest[used + i] = (char)tolower((unsigned char)text[i]);
    w->others++;
    return true;
}

/* Returns the length of the first of two joined words ("trainannot": 5), or 0 if it is a
 * single word. */
static size_t joined_length(const char *text, size_t n)
{
    size_t first = 0;

    for (size_t k = 2; k + 2 <= n && !first && !find_word(text, n); k++) {
        const struct word_list *a = find_word(text, k), *b = find_word(text + k, n - k);

        if (a && b && (a->split != 0) != (b->split != 0))
            first = k;
    }
    return first;
}

bool usual_words_parse(const char *path, struct usual_words *w)
{
    static const char separators[] = "/_- .";
    bool fits = true;

    *w = (struct usual_words){0};
    for (const char *cursor = path + strspn(path, separators); *cursor && fits;) {
        size_t n = strcspn(cursor, separators), first = joined_length(cursor, n);

        if (first)
            fits = add_word(w, cursor, first) && add_word(w, cursor + first, n - first);
        else
            fits = add_word(w, cursor, n);
        cursor += n;
        cursor += strspn(cursor, separators);
    }
    if (!fits)
        *w = (struct usual_words){0};
    return fits;
}

/* Usual parts of file names. */
struct name_part {
    const char *text;
    enum usual_role role;
};

/* Returns true if the name ends with the part after a separator, as in "a_mask", "a-mask"
 * and "a.mask". Only "_L" has to be written as it is: x_l.jpg is a left image. */
static bool ends_with(const char *name, const char *part)
{
    size_t n = strlen(name), e = strlen(part);
    const char *end = n > e + 1 ? name + n - e : NULL;

    if (e == 1)
        return end && end[-1] == '_' && *end == *part;
    return end && strchr("_-. ", end[-1]) && strcasecmp(end, part) == 0;
}

/* Removes usual endings. */
static void cut_end(char *s, enum usual_role *role)
{
    static const struct name_part part[] = {
        {"leftImg8bit", USUAL_IMAGES}, {"image", USUAL_IMAGES},
        {"img", USUAL_IMAGES},         {"rgb", USUAL_IMAGES},
        {"sat", USUAL_IMAGES},         {"gtFine", USUAL_LABELS},
        {"gtCoarse", USUAL_LABELS},    {"labelIds", USUAL_LABELS},
        {"L", USUAL_LABELS},           {"labelTrainIds", USUAL_LABELS},
        {"labels", USUAL_LABELS},      {"label", USUAL_LABELS},
        {"masks", USUAL_LABELS},       {"mask", USUAL_LABELS},
        {"seg", USUAL_LABELS},         {"segmentation", USUAL_LABELS},
        {"gt", USUAL_LABELS},          {"groundtruth", USUAL_LABELS},
        {"annotation", USUAL_LABELS}};

    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        if (!ends_with(s, part[i].text))
            continue;
        s[strlen(s) - strlen(part[i].text) - 1] = '\0';
        *role = *role == USUAL_LABELS ? *role : part[i].role;
        i = (size_t)-1; /* restart, as in NAME_gtFine_labelIds */
    }
}

/* Removes prefixes: "mask_12" and "image_12" become "12". */
static void cut_start(char *s, enum usual_role *role)
{
    static const struct name_part part[] = {
        {"image_", USUAL_IMAGES}, {"img_", USUAL_IMAGES}, {"mask_", USUAL_LABELS},
        {"label_", USUAL_LABELS}, {"seg_", USUAL_LABELS}, {"gt_", USUAL_LABELS}};

    for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        size_t n = strlen(part[i].text);

        if (strncasecmp(s, part[i].text, n) != 0 || !s[n])
            continue;
        memmove(s, s + n, strlen(s + n) + 1);
        *role = *role == USUAL_LABELS ? *role : part[i].role;
        i = (size_t)-1; /* restart, as in gt_img_12 */
    }
}

char *usual_stem(const char *path, enum usual_role *role)
{
    const char *base = path_basename(path);
    char *s = xstrndup(base, strlen(base) - strlen(path_extension(base)));
    enum usual_role unused;

    role = role ? role : &unused;
    *role = USUAL_OTHER;
    cut_end(s, role);
    cut_start(s, role);
    return s;
}
