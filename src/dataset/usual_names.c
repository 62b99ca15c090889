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
static const char *const label_words[] = {"masks",        "mask",
                                          "labels",       "label",
                                          "annotations",  "annotation",
                                          "annots",       "annot",
                                          "anns",         "ann",
                                          "gt",           "gts",
                                          "groundtruth",  "segmentations",
                                          "segmentation", "segs",
                                          "seg",          "segmentationclass",
                                          "targets",      "target",
                                          "labelmaps",    NULL};
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

    for (const char *at = path; at && !is;
         at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        size_t n = strcspn(at, "/"), dots = strspn(at, ".");
        char *part = xstrndup(at, n);

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
    static const char between[] = "/_- .";
    bool fits = true;

    *w = (struct usual_words){0};
    for (const char *at = path + strspn(path, between); *at && fits;) {
        size_t n = strcspn(at, between), first = joined_length(at, n);

        if (first)
            fits = add_word(w, at, first) && add_word(w, at + first, n - first);
        else
            fits = add_word(w, at, n);
        at += n;
        at += strspn(at, between);
    }
    if (!fits)
        *w = (struct usual_words){0};
    return fits;
}

/* Removes prefixes: "mask_12" and "image_12" become "12". */
static void cut_start(char *s)
{
    static const char *const start[] = {"image_", "img_", "mask_",
                                        "label_", "seg_", "gt_"};

    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++) {
        size_t n = strlen(start[i]);

        if (strncasecmp(s, start[i], n) != 0 || !s[n])
            continue;
        memmove(s, s + n, strlen(s + n) + 1);
        i = (size_t)-1; /* restart, as in gt_img_12 */
    }
}

char *usual_stem(const char *path)
{
    static const char *const ending[] = {
        "_leftImg8bit", "_gtFine", "_gtCoarse", "_labelIds", "_labelTrainIds",
        "_L",           "_labels", "_label",    "_masks",    "_mask",
        "_seg",         "_gt",     "_image",    "_img",      "_rgb"};
    const char *base = path_basename(path);
    char *s = xstrndup(base, strlen(base) - strlen(path_extension(base)));

    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        size_t n = strlen(s), e = strlen(ending[i]);

        if (n <= e || strcasecmp(s + n - e, ending[i]) != 0)
            continue;
        if (e == 2 && s[n - 1] != ending[i][1]) /* x_l.jpg is a left image */
            continue;
        s[n - e] = '\0';
        i = (size_t)-1; /* restart, as in NAME_gtFine_labelIds */
    }
    cut_start(s);
    return s;
}
