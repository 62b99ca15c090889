/*
 * trainc synth shapes: draws JPEGs in ImageFolder's layout,
 * DIR/{train,val}/CLASS/NNNN.jpg. trainc synth scenes: draws street scenes and their labels
 * as PNGs in Cityscapes' layout, DIR/{leftImg8bit,gtFine}/{train,val}/CITY/....
 * Writes to DIR.partial and renames it to DIR at the end. DIR/synth.json records the
 * options; synth does nothing if DIR already holds the same images.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/run.h"
#include "dataset/class_set.h"
#include "image/encode.h"
#include "io/json.h"
#include "synth/scenes.h"
#include "synth/shapes.h"

enum { QUALITY = 90 };

struct synth {
    const struct synth_kind *kind;
    int classes, train, val, size; /* classes: for shapes; 0 for scenes */
    int64_t seed;
};

struct synth_kind {
    const char *name;
    int train, val, size, size_min, size_max; /* defaults and limits of the flags */
    void (*write)(const struct synth *s, const char *dir);
};

static const char *const split_name[] = {"train", "val"};

/* Returns the number of images of a class: evenly divided, the remainder to the first
 * classes. */
static int count(const struct synth *s, int split, int shape)
{
    int total = split ? s->val : s->train;

    return total / s->classes + (shape < total % s->classes);
}

static void put_manifest(const struct synth *s, struct strbuf *text)
{
    struct json_writer w = json_writer(text);

    w.pretty = true;
    json_begin_object(&w, NULL);
    json_put_string(&w, "kind", s->kind->name);
    json_put_int(&w, "version", 1); /* increment if the generator draws other images */
    if (s->classes)
        json_put_int(&w, "classes", s->classes);
    json_put_int(&w, "train", s->train);
    json_put_int(&w, "val", s->val);
    json_put_int(&w, "size", s->size);
    json_put_int(&w, "seed", s->seed);
    json_end(&w);
    strbuf_addch(text, '\n');
}

/* Returns 1 if `dir` holds what `manifest` describes, -1 if it holds something else, 0 if
 * it is empty or missing. */
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

/* Writes the file and frees the data and the path. Exits on failure. */
static void write_file(char *path, unsigned char *data, size_t len)
{
    FILE *f = fopen(path, "wbe");

    if (!f || fwrite(data, 1, len, f) != len || fclose(f))
        die("cannot write '%s': %s", path, strerror(errno));
    free(data);
    free(path);
}

static void make_folder(char *path)
{
    if (dir_make_all(path))
        die("cannot create the folder '%s': %s", path, strerror(errno));
    free(path);
}

static void write_shape(const struct synth_image *p, const char *dir)
{
    uint8_t *rgb = xmalloc((size_t)p->size * (size_t)p->size * 3);
    char *path = xasprintf("%s/%s/%s/%04u.jpg", dir, split_name[p->split],
                           synth_shape_name(p->shape), p->number);
    unsigned char *jpeg;
    size_t len;

    synth_shapes_draw(p, rgb);
    jpeg = jpeg_encode(rgb, p->size, p->size, QUALITY, &len);
    write_file(path, jpeg, len);
    free(rgb);
}

static void write_shapes(const struct synth *s, const char *dir)
{
    for (int split = 0; split < 2; split++) {
        for (int shape = 0; shape < s->classes; shape++) {
            make_folder(
                xasprintf("%s/%s/%s", dir, split_name[split], synth_shape_name(shape)));
#pragma omp parallel for schedule(dynamic, 4)
            for (int i = 0; i < count(s, split, shape); i++)
                write_shape(&(struct synth_image){.seed = (uint64_t)s->seed,
                                                  .split = (uint32_t)split,
                                                  .number = (uint32_t)i,
                                                  .shape = shape,
                                                  .size = s->size},
                            dir);
        }
    }
}

/* Writes a scene and its label maps, alternating between two cities. */
static void write_scene(const struct synth_scene *p, const char *dir)
{
    static const char *const city[] = {"adorf", "bestadt"};
    size_t n = (size_t)p->w * (size_t)p->h, len;
    uint8_t *rgb = xmalloc(n * 4), *id = rgb + n * 3, map[256];
    const char *place = city[p->number % 2];
    char *name =
        xasprintf("%s/%s/%s_000000_%06u", split_name[p->split], place, place, p->number);
    struct png_bitmap png = {.pixel = rgb, .w = p->w, .h = p->h, .channels = 3};
    unsigned char *data;

    synth_scene_draw(p, rgb, id);
    data = png_encode(&png, &len);
    write_file(xasprintf("%s/leftImg8bit/%s_leftImg8bit.png", dir, name), data, len);
    png.pixel = id;
    png.channels = 1;
    data = png_encode(&png, &len);
    write_file(xasprintf("%s/gtFine/%s_gtFine_labelIds.png", dir, name), data, len);
    class_set_map(class_set_find("cityscapes19"), 19, false, map);
    for (size_t i = 0; i < n; i++)
        id[i] = map[id[i]];
    data = png_encode(&png, &len);
    write_file(xasprintf("%s/gtFine/%s_gtFine_labelTrainIds.png", dir, name), data, len);
    free(name);
    free(rgb);
}

static void write_scenes(const struct synth *s, const char *dir)
{
    for (int split = 0; split < 2; split++) {
        for (int k = 0; k < 4; k++)
            make_folder(xasprintf("%s/%s/%s/%s", dir, k % 2 ? "leftImg8bit" : "gtFine",
                                  split_name[split], k / 2 ? "adorf" : "bestadt"));
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 0; i < (split ? s->val : s->train); i++)
            write_scene(&(struct synth_scene){.seed = (uint64_t)s->seed,
                                              .split = (uint32_t)split,
                                              .number = (uint32_t)i,
                                              .w = s->size,
                                              .h = s->size / 2},
                        dir);
    }
}

static const struct synth_kind kinds[] = {
    {"shapes", 2000, 500, 32, SYNTH_SIZE_MIN, SYNTH_SIZE_MAX, write_shapes},
    {"scenes", 200, 40, 128, SYNTH_SCENE_MIN, SYNTH_SCENE_MAX, write_scenes},
};

static const struct synth_kind *find_kind(const struct cmdline *line)
{
    for (int i = 0; i < 2; i++)
        if (line->narg == 1 && strcmp(line->arg[0].text, kinds[i].name) == 0)
            return &kinds[i];
    usage("unknown or missing kind of images; run 'trainc synth shapes --out DIR' or "
          "'trainc synth scenes --out DIR'");
}

/* Generates the images atomically: `dir` appears when all are written. */
static void generate(const struct synth *s, const char *dir,
                     const struct strbuf *manifest)
{
    char *partial = xasprintf("%s.partial", dir),
         *path = path_join(partial, "synth.json");

    if (holds(partial, manifest->buf) < 0)
        die("'%s' was left by an interrupted synth with other options; remove it",
            partial);
    if (dir_make_all(partial))
        die("cannot create the folder '%s': %s", partial, strerror(errno));
    if (atomic_write_file(path, manifest->buf, manifest->len))
        die("cannot write '%s': %s", path, strerror(errno));
    s->kind->write(s, partial);
    if (rename(partial, dir))
        die("cannot rename '%s' to '%s': %s", partial, dir, strerror(errno));
    free(partial);
    free(path);
}

static char *out_folder(const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    char *dir;

    if (!out || !*out)
        usage("no output folder: give --out DIR");
    dir = xstrdup(out);
    for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    return dir;
}

static int synth_run(struct config *cfg, const struct cmdline *line)
{
    const struct synth_kind *kind = find_kind(line);
    bool shapes = kind->write == write_shapes;
    char *dir = out_folder(line);
    struct synth s = {
        .kind = kind,
        .classes =
            shapes ? (int)run_flag_number(line, "--classes", 10, 2, SYNTH_SHAPES) : 0,
        .train = (int)run_flag_number(line, "--train", kind->train, 0, 10000000),
        .val = (int)run_flag_number(line, "--val", kind->val, 0, 10000000),
        .size = (int)run_flag_number(line, "--size", kind->size, kind->size_min,
                                     kind->size_max),
        .seed = cfg->seed,
    };
    struct strbuf manifest = STRBUF_INIT;
    double start = clock_now();
    int there;

    if (!shapes && cmdline_value(line, "--classes"))
        usage("--classes has no effect on scenes, which have the classes of Cityscapes");
    if (!shapes && s.size % 16)
        usage("--size %d: the width of scenes must be a multiple of 16", s.size);
    put_manifest(&s, &manifest);
    there = holds(dir, manifest.buf);
    if (there < 0)
        die("'%s' holds other files; remove it or choose another folder", dir);
    if (there) {
        log_info("'%s' is up to date", dir);
    } else {
        generate(&s, dir, &manifest);
        log_info("wrote %d training and %d validation %s of %d by %d to '%s' in %.1f s",
                 s.train, s.val, kind->name, s.size, shapes ? s.size : s.size / 2, dir,
                 clock_now() - start);
    }
    strbuf_release(&manifest);
    free(dir);
    return EXIT_OK;
}

static const struct cmd_flag synth_flags[] = {
    {"--out", "DIR", "folder for the images"},
    {"--classes", "N", "number of shape classes, 2 to 16 (10)"},
    {"--train", "N", "number of training images (2000 shapes or 200 scenes)"},
    {"--val", "N", "number of validation images (500 shapes or 40 scenes)"},
    {"--size", "N",
     "side of shapes in pixels, 8 to 512 (32); width of scenes, 32 to 2048 (128; the "
     "height is half of it)"},
    {0},
};

static const char *const synth_reads[] = {"SEED", NULL};

const struct verb cmd_synth = {
    .name = "synth",
    .examples =
        (const char *const[]){"trainc synth shapes --out photos",
                              "trainc synth scenes --out streets --train 20 --val 5",
                              NULL},
    .help = "generate a synthetic data set",
    .about = "trainc synth shapes draws geometric shapes as JPEGs in the layout of "
             "DATA.DATASET imagenet. trainc synth scenes draws street scenes with label "
             "maps in the layout of DATA.DATASET cityscapes. --seed changes the images.",
    .args = "shapes|scenes",
    .max_args = 1,
    .flags = synth_flags,
    .reads = synth_reads,
    .run = synth_run,
};
