#include "train/segmentation.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static void count(struct segmentation *s, const int64_t *matrix)
{
    int k = s->classes;

    for (int y = 0; y < k; y++)
        for (int p = 0; p < k; p++) {
            int64_t n = matrix[y * k + p];

            s->class_result[y].pixels += n;
            s->class_result[p].taken += n;
            s->class_result[y].right += y == p ? n : 0;
            s->pixels += n;
        }
}

void segmentation_init(struct segmentation *s, const int64_t *matrix, int classes)
{
    double right = 0, acc = 0, iou = 0, dice = 0, weighted = 0, present;

    if (classes < 1 || classes > LABEL_CLASSES)
        BUG("%d classes", classes);
    *s = (struct segmentation){.classes = classes};
    count(s, matrix);
    for (int k = 0; k < classes; k++) {
        struct segmentation_class *c = &s->class_result[k];

        c->acc = c->iou = c->dice = c->boundary = (double)NAN;
        if (!c->pixels) {
            s->absent++;
            continue;
        }
        c->acc = (double)c->right / (double)c->pixels;
        c->iou = (double)c->right / (double)(c->pixels + c->taken - c->right);
        c->dice = 2 * (double)c->right / (double)(c->pixels + c->taken);
        right += (double)c->right;
        acc += c->acc;
        iou += c->iou;
        dice += c->dice;
        weighted += (double)c->pixels * c->iou;
    }
    present = classes - s->absent;
    s->acc = right / (double)s->pixels;
    s->class_acc = acc / present;
    s->miou = iou / present;
    s->mdice = dice / present;
    s->fwiou = weighted / (double)s->pixels;
    s->boundary = (double)NAN;
}

void segmentation_set_boundary(struct segmentation *s, const struct boundary *b)
{
    double sum = 0;
    int present = 0;

    for (int k = 0; k < s->classes; k++) {
        s->class_result[k].boundary = boundary_iou(b, k);
        sum += isnan(s->class_result[k].boundary) ? 0 : s->class_result[k].boundary;
        present += !isnan(s->class_result[k].boundary);
    }
    s->boundary = present ? sum / present : (double)NAN;
}

struct class_iou segmentation_iou(const struct segmentation *s)
{
    struct class_iou iou = {.n = s ? s->classes : 0};

    for (int k = 0; k < iou.n; k++)
        iou.iou[k] = s->class_result[k].iou;
    return iou;
}

void segmentation_add_table(struct strbuf *text, const struct segmentation *s,
                            const char *const *name)
{
    int width = 5;

    for (int k = 0; k < s->classes; k++)
        width = (int)strlen(name[k]) > width ? (int)strlen(name[k]) : width;
    strbuf_addf(text, "%-*s    IoU   Dice    acc%s  of all pixels\n", width, "class",
                isnan(s->boundary) ? "" : " boundary");
    for (int k = 0; k < s->classes; k++) {
        const struct segmentation_class *c = &s->class_result[k];
        double share = 100 * (double)c->pixels / (double)s->pixels;

        if (!c->pixels) {
            strbuf_addf(text, "%-*s absent\n", width, name[k]);
            continue;
        }
        strbuf_addf(text, "%-*s %6.4f %6.4f %6.4f", width, name[k], c->iou, c->dice,
                    c->acc);
        if (!isnan(s->boundary))
            strbuf_addf(text, "   %6.4f", c->boundary);
        strbuf_addf(text, "  %7.3f %%\n", share);
    }
}

void segmentation_add_absent(struct strbuf *text, const struct segmentation *s,
                             const char *const *name)
{
    const char *comma = "";

    for (int k = 0; k < s->classes; k++)
        if (!s->class_result[k].pixels) {
            strbuf_addf(text, "%s%s", comma, name[k]);
            comma = ", ";
        }
}
