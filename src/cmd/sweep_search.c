/* Searches: runs whose values are drawn, in rounds. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cmd/sweep.h"
#include "cmd/sweep_tpe.h"

enum { ATTEMPTS = 1000 }; /* to propose a run that does not exist */

struct search {
    struct space space;
    struct tpe_trial *trial; /* of each run */
    uint64_t seed;
    int proposals; /* so far */
    bool tpe;
};

/* Adds a run. Returns false if only existing ones were proposed. `finished` trials count. */
static bool add_run(struct sweep *s, struct search *h, int finished)
{
    double *position = xcalloc((size_t)h->space.n + 1, sizeof(*position));

    for (int i = 0; i < ATTEMPTS; i++) {
        char **word = xcalloc((size_t)h->space.n + 1, sizeof(*word));

        tpe_propose(&h->space, h->trial, h->tpe ? finished : 0, h->seed, h->proposals++,
                    position);
        for (int a = 0; a < h->space.n; a++)
            word[a] = space_word(&h->space.axis[a], position[a]);
        if (!sweep_grid_add_words(&s->grid, word, h->space.n))
            continue;
        h->trial[s->grid.n - 1] = (struct tpe_trial){position, (double)NAN};
        return true;
    }
    free(position);
    return false;
}

/* The score of a run, for its trial; NaN if it failed. */
static double score_of(const struct outcome *o)
{
    return o->code ? (double)NAN : o->score;
}

int sweep_search(struct sweep *s, char *const *axis, int naxis, int n, uint64_t seed,
                 bool tpe)
{
    struct search h = {.seed = seed, .tpe = tpe};
    int sig = 0;
    bool more = true;

    space_init(&h.space, axis, naxis);
    h.trial = xcalloc((size_t)n + 1, sizeof(*h.trial));
    while (more && !sig && s->grid.n < n) {
        int finished = s->grid.n, round = tpe ? s->jobs : n;

        while (more && s->grid.n < n && s->grid.n < finished + round)
            more = add_run(s, &h, finished);
        if (s->grid.n == finished)
            break;
        sweep_grow(s, finished);
        sig = sweep_run_all(s);
        for (int i = finished; i < s->grid.n; i++)
            h.trial[i].score = score_of(&s->outcome[i]);
    }
    if (!more)
        log_info("the search has no more than these %d combinations", s->grid.n);
    for (int i = 0; i < s->grid.n; i++)
        free(h.trial[i].position);
    free(h.trial);
    space_release(&h.space);
    return sig;
}
