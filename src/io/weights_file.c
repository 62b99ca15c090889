#include "io/weights_file.h"

#include "io/safetensors_sum.h"

/* Returns false for unreadable files, which safetensors then refuses. */
static bool is_torch(const char *path)
{
    struct strbuf ignored = STRBUF_INIT;
    struct input in;
    uint64_t start; /* in safetensors: length of the header */
    bool torch = !input_open(&in, path, &ignored) &&
                 !input_read(&in, &start, sizeof(start), 0, &ignored) &&
                 (start > SAFETENSORS_HEADER_MAX || !memcmp(&start, "PK", 2)) &&
                 input_is_torch(&start);

    input_close(&in);
    strbuf_release(&ignored);
    return torch;
}

int weights_file_open(struct weights_file *f, const char *path, bool ema,
                      struct strbuf *why)
{
    *f = (struct weights_file){.part = ""};
    f->torch = is_torch(path);
    f->pt2 = f->torch && pt2_file_is(path);
    if (f->pt2) {
        f->torch = false;
        if (pt2_file_open(&f->archive, path, why))
            return -1;
        f->path = f->archive.in.path;
        f->tensor = f->archive.tensor;
        f->n = f->archive.n;
        return 0;
    }
    if (f->torch) {
        if (pth_open(&f->pth, path, ema, why))
            return -1;
        f->path = f->pth.file.in.path;
        f->tensor = f->pth.tensor;
        f->n = f->pth.n;
        f->part = f->pth.part;
        return 0;
    }
    if (safetensors_open(&f->safetensors, path, why))
        return -1;
    f->path = f->safetensors.in.path;
    f->tensor = f->safetensors.tensor;
    f->n = f->safetensors.n;
    f->by_trainc = safetensors_meta(&f->safetensors, "trainc") != NULL;
    return 0;
}

int weights_file_verify(const struct weights_file *f, struct strbuf *why)
{
    return f->by_trainc || weights_file_meta(f, "xxh3")
               ? safetensors_verify(&f->safetensors, why)
               : 0;
}

void weights_file_close(struct weights_file *f)
{
    if (f->pt2)
        pt2_file_close(&f->archive);
    else if (f->torch)
        pth_close(&f->pth);
    else
        safetensors_close(&f->safetensors);
    *f = (struct weights_file){0};
}

const struct safetensors_tensor *weights_file_find(const struct weights_file *f,
                                                   const char *name)
{
    return f->pt2     ? strmap_get(&f->archive.index, name)
           : f->torch ? strmap_get(&f->pth.index, name)
                      : safetensors_find(&f->safetensors, name);
}

const char *weights_file_meta(const struct weights_file *f, const char *key)
{
    if (f->pt2)
        return strcmp(key, "classes") != 0 ? NULL : f->archive.classes;
    return f->torch ? NULL : safetensors_meta(&f->safetensors, key);
}

int weights_file_read(const struct weights_file *f, const struct safetensors_tensor *t,
                      void *data, struct strbuf *why)
{
    return f->pt2     ? pt2_file_read(&f->archive, t, data, why)
           : f->torch ? pth_read(&f->pth, t, data, why)
                      : safetensors_read(&f->safetensors, t, data, why);
}
