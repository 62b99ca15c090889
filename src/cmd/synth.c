/*
 * trainc synth shapes: generated pictures as JPEGs in ImageFolder's layout,
 * DIR/{train,val}/CLASS/NNNN.jpg. They are made in DIR.partial, which becomes DIR at the
 * end, with DIR/synth.json telling how; asked for the same again, synth does nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "dataset/synth_shapes.h"
#include "image/encode.h"
#include "io/json.h"

enum { QUALITY = 90 };

struct synth {
    int classes, train, val, size;
    int64_t seed;
};

static const char *const split_name[] = {"train", "val"};

/* Shared out evenly over the classes, the first ones getting what is left. */
static int count(const struct synth *s, int split, int shape)
{
    int total = split ? s->val : s->train;

    return total / s->classes + (shape < total % s->classes);
}

static int number(const struct cmdline *line, const char *flag, int def, int least,
                  int most)
{
    const char *text = cmdline_value(line, flag);
    char *end;
    long v;

    if (!text)
        return def;
    errno = 0;
    v = strtol(text, &end, 10);
    if (end == text || *end || errno || v < least || v > most)
        usage("%s must be a number from %d to %d, not '%s'", flag, least, most, text);
    return (int)v;
}

static void put_manifest(const struct synth *s, struct strbuf *text)
{
    struct json_writer w = json_writer(text);

    w.pretty = true;
    json_begin_object(&w, NULL);
    json_put_string(&w, "kind", "shapes");
    json_put_int(&w, "version", 1); /* of the generator: other pictures, another number */
    json_put_int(&w, "classes", s->classes);
    json_put_int(&w, "train", s->train);
    json_put_int(&w, "val", s->val);
    json_put_int(&w, "size", s->size);
    json_put_int(&w, "seed", s->seed);
    json_end(&w);
    strbuf_addch(text, '\n');
}

/* Is what lies in `dir` what `manifest` describes? -1: something else is there. */
static int holds(const char *dir, const char *manifest)
{
    char *path = path_join(dir, "synth.json"), *text = file_read(path, NULL);
    int n, same = text && !strcmp(text, manifest);
    char **names = dir_list(dir, &n);

    dir_list_free(names, n);
    free(path);
    free(text);
    if (file_exists(dir) && (n < 0 || (n > 0 && !same)))
        return -1;
    return same;
}

static void write_picture(const struct synth_picture *p, const char *dir)
{
    uint8_t *rgb = xmalloc((size_t)p->size * (size_t)p->size * 3);
    char *path = xasprintf("%s/%s/%s/%04u.jpg", dir, split_name[p->split],
                           synth_shape_name(p->shape), p->number);
    size_t len;
    unsigned char *jpeg;
    FILE *f = fopen(path, "wb");

    synth_shapes_draw(p, rgb);
    jpeg = jpeg_encode(rgb, p->size, p->size, QUALITY, &len);
    if (!f || fwrite(jpeg, 1, len, f) != len || fclose(f))
        die("cannot write '%s': %s", path, strerror(errno));
    free(jpeg);
    free(path);
    free(rgb);
}

static void write_pictures(const struct synth *s, const char *dir)
{
    for (int split = 0; split < 2; split++) {
        for (int shape = 0; shape < s->classes; shape++) {
            char *folder =
                xasprintf("%s/%s/%s", dir, split_name[split], synth_shape_name(shape));

            if (dir_make_all(folder))
                die("cannot make the folder '%s': %s", folder, strerror(errno));
            free(folder);
#pragma omp parallel for schedule(dynamic, 4)
            for (int i = 0; i < count(s, split, shape); i++)
                write_picture(&(struct synth_picture){.seed = (uint64_t)s->seed,
                                                      .split = (uint32_t)split,
                                                      .number = (uint32_t)i,
                                                      .shape = shape,
                                                      .size = s->size},
                              dir);
        }
    }
}

/* All pictures, or none: `dir` appears when they are there. */
static void generate(const struct synth *s, const char *dir,
                     const struct strbuf *manifest)
{
    char *partial = xasprintf("%s.partial", dir),
         *path = path_join(partial, "synth.json");

    if (holds(partial, manifest->buf) < 0)
        die("'%s' is left from another run of synth; remove it", partial);
    if (dir_make_all(partial))
        die("cannot make the folder '%s': %s", partial, strerror(errno));
    if (file_write_atomic(path, manifest->buf, manifest->len))
        die("cannot write '%s': %s", path, strerror(errno));
    write_pictures(s, partial);
    if (rename(partial, dir))
        die("cannot rename '%s' to '%s': %s", partial, dir, strerror(errno));
    free(partial);
    free(path);
}

static char *out_folder(const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    char *dir;

    if (line->narg != 1 || strcmp(line->arg[0].text, "shapes") != 0)
        usage("say what to generate: 'trainc synth shapes --out DIR'");
    if (!out || !*out)
        usage("say where the pictures go: --out DIR");
    dir = xstrdup(out);
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    return dir;
}

static int synth_run(struct config *cfg, const struct cmdline *line)
{
    char *dir = out_folder(line);
    struct synth s = {
        .classes = number(line, "--classes", 10, 2, SYNTH_SHAPES),
        .train = number(line, "--train", 2000, 0, 10000000),
        .val = number(line, "--val", 500, 0, 10000000),
        .size = number(line, "--size", 32, SYNTH_SIZE_MIN, SYNTH_SIZE_MAX),
        .seed = cfg->seed,
    };
    struct strbuf manifest = STRBUF_INIT;
    double start = clock_now();
    int there;

    put_manifest(&s, &manifest);
    there = holds(dir, manifest.buf);
    if (there < 0)
        die("'%s' holds something else; remove it or choose another folder", dir);
    if (there) {
        log_info("'%s' is up to date", dir);
    } else {
        generate(&s, dir, &manifest);
        log_info("'%s': %d classes, %d training and %d validation pictures of %d by %d, "
                 "in %.1f s",
                 dir, s.classes, s.train, s.val, s.size, s.size, clock_now() - start);
    }
    strbuf_release(&manifest);
    free(dir);
    return EXIT_OK;
}

static const struct cmd_flag synth_flags[] = {
    {"--out", "DIR", "folder for the pictures"},
    {"--classes", "N", "how many kinds of shapes, 2 to 16 (10)"},
    {"--train", "N", "training pictures, all classes together (2000)"},
    {"--val", "N", "validation pictures (500)"},
    {"--size", "N", "pixels a side, 8 to 512 (32)"},
    {0},
};

const struct verb cmd_synth = {
    .name = "synth",
    .help = "generate pictures to train on",
    .about = "trainc synth shapes draws geometric shapes as JPEGs, in folders as for "
             "DATA.DATASET imagenet. --seed gives other pictures.",
    .args = "shapes",
    .max_args = 1,
    .flags = synth_flags,
    .run = synth_run,
};
