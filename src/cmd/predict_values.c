/* trainc predict for a regression (MODEL.TASK regression): a number per target. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/say.h"
#include "cmd/predict.h"
#include "cmd/submission.h"
#include "io/csv.h"

/* The prefix tells the table from one of targets, which must not be overwritten
 * (io/written.h). */
void values_begin_table(struct predict *p)
{
    struct strbuf name = STRBUF_INIT;

    strbuf_addstr(&p->table, "image");
    for (int k = 0; k < p->classes; k++) {
        strbuf_reset(&name);
        strbuf_addf(&name, "predicted_%s", p->name[k]);
        strbuf_addch(&p->table, ',');
        csv_add_name(&p->table, name.buf);
    }
    strbuf_addch(&p->table, '\n');
    strbuf_release(&name);
}

static void add_object(struct predict *p, const char *path, const float *value)
{
    struct json_writer *w = &p->writer;

    json_begin_object(w, NULL);
    json_put_string(w, "image", path);
    json_begin_array(w, "values");
    for (int k = 0; k < p->classes; k++)
        json_put_float(w, NULL, value[k]);
    json_end(w);
    json_end(w);
}

static void add_row(struct predict *p, const char *path, const float *value)
{
    csv_add_name(&p->table, path);
    for (int k = 0; k < p->classes; k++)
        strbuf_addf(&p->table, ",%.9g", (double)value[k]);
    strbuf_addch(&p->table, '\n');
}

static void add_answers(struct predict *p, const char *path, const float *value)
{
    double *wide = xcalloc((size_t)p->classes, sizeof(*wide));

    for (int k = 0; k < p->classes; k++)
        wide[k] = (double)value[k];
    submission_add(p->answers, path, wide);
    free(wide);
}

void values_add(struct predict *p, int64_t i, const float *value)
{
    const char *path = p->images.path[i];

    say("%s:", path);
    for (int k = 0; k < p->classes; k++)
        say("%s%s %.6g", k ? ", " : " ", p->name[k], (double)value[k]);
    say("\n");
    if (p->csv)
        add_row(p, path, value);
    if (p->json)
        add_object(p, path, value);
    if (p->answers)
        add_answers(p, path, value);
}
