#include "session/plateau.h"

bool plateau_judge(struct plateau *p, const struct schedule *s)
{
    static const double threshold = 1e-4, smallest = 1e-8;
    double now = p->lr > 0 ? p->lr : s->base, next = now * s->rate;

    if (p->score > p->best * (1 + threshold)) {
        p->best = p->score;
        p->bad = 0;
    } else {
        p->bad++;
    }
    if (p->bad <= s->patience)
        return false;
    p->bad = 0;
    next = next > s->min ? next : s->min;
    if (!(now - next > smallest))
        return false;
    p->lr = next;
    return true;
}
