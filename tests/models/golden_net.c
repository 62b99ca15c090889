#include "tests/models/golden_net.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/control.h"
#include "tests/test.h"

enum { SAMPLES = 6 };

uint32_t golden_hash(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static uint32_t name_hash(const char *name)
{
    uint32_t h = 0x811C9DC5u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x01000193u;
    return h;
}

static float uniform(uint32_t name, int64_t i)
{
    return (float)(golden_hash(name + (uint32_t)i * 0x9E3779B9u) >> 8) * 0x1p-23f - 1;
}

/* Returns the stored index of logical element i of t. */
int64_t golden_stored(const struct tensor *t, int64_t i)
{
    int64_t stride[TENSOR_DIMS], pos = 0;

    tensor_strides(t, stride);
    for (int d = t->ndim; d-- > 0; i /= t->dim[d])
        pos += i % t->dim[d] * stride[d];
    return pos;
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), n = strlen(end);

    return len > n && !strcmp(name + len - n, end);
}

float golden_formula(const struct trial *t, const struct tensor *p, int64_t i)
{
    float u = uniform(name_hash(p->name), i);

    if (p->kind != TENSOR_PARAM)
        return p->init.value;
    if (p->ndim > 1)
        return u * (float)sqrt(6.0 / (double)(tensor_len(p) / p->dim[0]));
    if (!ends_with(p->name, ".weight"))
        return 0.1f * u;
    return (1 + 0.25f * u) *
           (t->branch > 0 && ends_with(p->name, ".bn2.weight") ? t->branch : 1);
}

static void fill_weights(const struct trial *t, float *w)
{
    const struct flat *f = t->g->flat;

    memset(w, 0, (size_t)f->weights_len * sizeof(float));
    for (int s = 0; s < f->nsegment; s++)
        for (int64_t i = 0; i < f->segment[s].len; i++)
            w[f->segment[s].offset + golden_stored(f->segment[s].tensor, i)] =
                golden_formula(t, f->segment[s].tensor, i);
}

void golden_write(struct trial *t, const struct tensor *dst, const void *src)
{
    t->backend->copy_in(t->dev, program_data(t->program, dst), src, tensor_size(dst));
}

float *golden_memory(struct trial *t, enum memory m)
{
    size_t size = program_need(t->program, m);
    float *p = xmalloc(size);

    t->backend->copy_out(t->dev, p, t->base[m], size);
    return p;
}

static void fill_pixels(struct trial *t, int64_t number)
{
    char *name = xasprintf("input%" PRId64, number);
    uint32_t h = name_hash(name);
    int64_t len = tensor_len(t->x);
    float *x = xmalloc((size_t)len * sizeof(*x));

    for (int64_t i = 0; i < len; i++)
        x[golden_stored(t->x, i)] = 2 * uniform(h, i);
    golden_write(t, t->x, x);
    free(name);
    free(x);
}

int64_t golden_int(const json_t *j, const char *key)
{
    return json_integer_value(json_object_get(j, key));
}

void golden_open(struct trial *t, const json_t *golden)
{
    const struct backend *backend = t->backend;
    float *w;

    t->program = program_compile(t->g, backend, t->dev,
                                 &(struct compile_options){.redzones = true});
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(t->program, (enum memory)m))
            t->base[m] = backend->alloc(t->dev, program_need(t->program, (enum memory)m));
    program_bind(t->program, t->base);

    w = xcalloc((size_t)t->g->flat->weights_len, sizeof(*w));
    fill_weights(t, w);
    backend->copy_in(t->dev, t->base[MEMORY_WEIGHTS], w,
                     (size_t)t->g->flat->weights_len * sizeof(*w));
    free(w);
    if (t->base[MEMORY_CONTROL])
        backend->copy_in(t->dev, t->base[MEMORY_CONTROL],
                         &(struct control){.loss_scale = 1, .grad_multiplier = 1},
                         sizeof(struct control));
    program_refresh(t->program);
    fill_pixels(t, golden_int(golden, "input"));
}

void golden_close(struct trial *t)
{
    program_free(t->program);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (t->base[m])
            t->backend->free(t->dev, t->base[m]);
    graph_free(t->g);
    t->backend->close(t->dev);
}

void golden_check_numbers(const char *what, const float *got, const json_t *want,
                          double tol)
{
    double scale = 0;
    size_t n = json_array_size(want);

    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(json_number_value(json_array_get(want, i))));
    for (size_t i = 0; i < n; i++) {
        double w = json_number_value(json_array_get(want, i)), g = (double)got[i];

        if (!(fabs(g - w) <= tol * scale))
            fail_msg("%s[%zu] is %.8g, not %.8g", what, i, g, w);
    }
}

void golden_check_digest(const char *what, const struct tensor *t, const float *data,
                         const json_t *want, struct tolerance tol)
{
    float got[1 + SAMPLES];
    int64_t len = tensor_len(t);
    double sum = 0;

    for (int64_t i = 0; i < len; i++)
        sum += (double)data[i] * data[i];
    got[0] = (float)sqrt(sum);
    for (uint32_t k = 0; k < SAMPLES; k++)
        got[1 + k] = data[golden_stored(t, golden_hash(name_hash(t->name) + k) % len)];

    double norm = json_number_value(json_array_get(want, 0));
    double typical = norm / sqrt((double)len); /* of a single element */

    assert_int_equal(json_array_size(want), 1 + SAMPLES);
    if (!(fabs((double)got[0] - norm) <= tol.relative * norm + tol.floor))
        fail_msg("%s of %s: norm is %.8g, not %.8g", what, t->name, (double)got[0], norm);
    for (size_t k = 1; k <= SAMPLES; k++) {
        double w = json_number_value(json_array_get(want, k)), g = (double)got[k];

        if (!(fabs(g - w) <= 5 * tol.relative * (fabs(w) + typical) + tol.floor))
            fail_msg("%s of %s: sample %zu is %.8g, not %.8g", what, t->name, k, g, w);
    }
}

double golden_mean_floor;

double golden_floor(const json_t *want, const struct tensor *t, double floor)
{
    static const char mean[] = "running_mean";
    size_t len = strlen(t->name), n = sizeof(mean) - 1;
    double variance; /* typical of a channel */
    char *name;

    if (len < n || strcmp(t->name + len - n, mean) != 0)
        return floor;
    name = xasprintf("%.*srunning_var", (int)(len - n), t->name);
    variance = json_number_value(json_array_get(json_object_get(want, name), 0)) /
               sqrt((double)tensor_len(t));
    free(name);
    return fmax(floor, golden_mean_floor * sqrt(variance));
}

void golden_check_flat(struct trial *t, const char *what, const float *data, int n,
                       const json_t *want, struct tolerance tol)
{
    const struct flat *f = t->g->flat;
    size_t compared = 0;

    for (int s = 0; s < n; s++) {
        const struct tensor *p = f->segment[s].tensor;
        const json_t *digest = json_object_get(want, p->name);
        struct tolerance here = {tol.relative, golden_floor(want, p, tol.floor)};

        if (!digest && (p->integer || strstr(p->name, "num_batches_tracked")))
            continue;
        if (!digest)
            fail_msg("%s of %s is not in the golden file", what, p->name);
        golden_check_digest(what, p, data + f->segment[s].offset, digest, here);
        compared++;
        for (int k = 0; k < p->nalso; k++) { /* samples depend on the name */
            struct tensor other = *p;

            other.name = p->also[k];
            digest = json_object_get(want, other.name);
            if (!digest)
                continue; /* gradients have one name */
            golden_check_digest(what, &other, data + f->segment[s].offset, digest, here);
            compared++;
        }
    }
    assert_int_equal(compared, json_object_size(want));
}

json_t *golden_read(const char *name)
{
    char *path = xasprintf("tests/golden/models/%s.json", name);
    struct strbuf why = STRBUF_INIT;
    json_t *j = json_parse_file(path, &why);

    if (!j)
        fail_msg("%s: %s", path, why.buf);
    strbuf_release(&why);
    free(path);
    return j;
}

double golden_run(struct trial *t)
{
    float loss;

    program_run(t->program);
    t->backend->copy_out(t->dev, &loss, program_data(t->program, t->loss), sizeof(loss));
    return (double)loss;
}

void golden_check_loss(const struct trial *t, const char *what, double got,
                       const json_t *want, double tol)
{
    double w = json_number_value(want);

    if (!(fabs(got - w) <= tol * fabs(w)))
        fail_msg("%s: loss of %s is %.8g, not %.8g", t->backend->name, what, got, w);
}

float *golden_logits(struct trial *t)
{
    float *z = xmalloc(tensor_size(t->logits));

    t->backend->copy_out(t->dev, z, program_data(t->program, t->logits),
                         tensor_size(t->logits));
    return z;
}
