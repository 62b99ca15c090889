#include "base/suggest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { LEN_MAX = 80 };

static int fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static int min3(int a, int b, int c)
{
    return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

/* Optimal string alignment (Damerau and Levenshtein), three rows at a time. */
static int distance(const char *a, const char *b)
{
    int row[3][LEN_MAX + 1], n = (int)strlen(a), m = (int)strlen(b);

    if (n > LEN_MAX || m > LEN_MAX)
        return INT_MAX;
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *up = row[(i - 1) % 3], *up2 = row[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int cost = fold(a[i - 1]) != fold(b[j - 1]);

            now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + cost);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]) && up2[j - 2] + 1 < now[j])
                now[j] = up2[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}

void suggest_init(struct suggest *s, const char *wanted)
{
    int len = (int)strlen(wanted);

    *s = (struct suggest){.wanted = wanted, .distance = (len + 1) / 3 + 1};
}

void suggest_try(struct suggest *s, const char *name)
{
    const char *last = strrchr(name, '.');
    int d = distance(s->wanted, name);

    /* EPOCHS for TRAIN.EPOCHS: the section is missing */
    if (last && !strchr(s->wanted, '.') && strlen(s->wanted) > 2) {
        int e = distance(s->wanted, last + 1);

        d = e < d && e <= 1 ? e : d;
    }
    if (d < s->distance) {
        s->distance = d;
        s->best = name;
    }
}
