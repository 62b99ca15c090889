/* The flags of trainc predict that are numbers, and checks of those that name files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "cmd/predict.h"
#include "cmd/run.h"

enum { TOP = 5 };

int predict_topk(const char *text)
{
    char *end;
    long n;

    if (!text)
        return TOP;
    if (!strcmp(text, "all"))
        return 0;
    n = strtol(text, &end, 10);
    return *text && !*end && n > 0 && n <= 1 << 24 ? (int)n : -1;
}

double predict_threshold(const char *text)
{
    char *end;
    double t;

    if (!text)
        return 0;
    t = strtod(text, &end);
    return *text && !*end && t > 0 && t <= 1 ? t : -1;
}

/* Reads the first line. Returns false if the file cannot be read. */
static bool first_line(const char *path, char line[4096])
{
    FILE *f = path ? file_open(path) : NULL;
    bool good = f && fgets(line, 4096, f);

    if (f)
        fclose(f);
    line[good ? strcspn(line, "\r\n") : 0] = '\0';
    return good;
}

/* Refuses to overwrite a file whose first line is not the header of the submission. */
static void check_submission(const struct cmdline *line, struct problems *p)
{
    const char *path = cmdline_value(line, "--submission");
    const char *sample = cmdline_value(line, "--sample");
    char header[4096] = "id,label", existing[4096];

    if (sample && !path)
        problems_error(p, "--sample", "has no effect without --submission FILE");
    if (sample && !first_line(sample, header))
        problems_error(p, "--sample", "cannot read '%s'", sample);
    else if (path && sample && file_same(path, sample))
        problems_error(p, "--submission",
                       "'%s' is the sample file itself; choose another file", path);
    else if (path && first_line(path, existing) && strcmp(existing, header) != 0)
        problems_error(p, "--submission",
                       "'%s' already exists and begins with '%.60s', not with '%.60s'; "
                       "choose another file",
                       path, existing, header);
}

void predict_check_flags(const struct cmdline *line, struct problems *p)
{
    const char *json = cmdline_value(line, "--json"), *csv = cmdline_value(line, "--csv");
    bool files = json || csv;

    if (predict_topk(cmdline_value(line, "--topk")) < 0)
        problems_error(p, "--topk", "must be a number of at least 1, or all, not '%s'",
                       cmdline_value(line, "--topk"));
    if (predict_threshold(cmdline_value(line, "--threshold")) < 0)
        problems_error(p, "--threshold",
                       "must be a probability above 0 and at most 1, not '%s'",
                       cmdline_value(line, "--threshold"));
    if (cmdline_value(line, "--top-images") &&
        predict_topk(cmdline_value(line, "--top-images")) < 1)
        problems_error(p, "--top-images", "must be a number of at least 1, not '%s'",
                       cmdline_value(line, "--top-images"));
    if (cmdline_has(line, "--probabilities") && !files)
        problems_error(p, "--probabilities",
                       "has no effect without --json FILE or --csv FILE");
    if (cmdline_has(line, "--copy") && !cmdline_value(line, "--sort"))
        problems_error(p, "--copy", "has no effect without --sort DIR");
    if (json && csv && !strcmp(json, csv))
        problems_error(p, "--csv", "'%s' is also the file of --json; choose another file",
                       csv);
    else
        run_check_writable(line, "--json", WRITTEN_JSON, p);
    run_check_writable(line, "--csv", WRITTEN_TABLE, p);
    check_submission(line, p);
}
