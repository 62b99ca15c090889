#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/class_value.h"
#include "dataset/hdf5_rows.h"

enum { CLASSES_MAX = 1 << 20 };

/* Returns the number of elements in a row. */
static hdf5_size width_of(const struct rows *r)
{
    hdf5_size n = 1;

    for (int i = 1; i < r->rank && n <= CLASSES_MAX; i++)
        n = r->dims[i] <= CLASSES_MAX ? n * r->dims[i] : CLASSES_MAX + 1;
    return n;
}

static bool is_boolean(const struct rows *r)
{
    return r->kind == HDF5_ENUM && r->size == 1;
}

bool labels_fit(const struct rows *r, hdf5_size n)
{
    bool numbers = r->kind == HDF5_INTEGER || r->kind == HDF5_FLOAT || is_boolean(r);

    if (r->files || r->rank < 1 || r->rank > 4 || r->dims[0] != n)
        return false;
    if (r->kind == HDF5_STRING)
        return width_of(r) == 1 && r->size > 0 && r->size <= 4096;
    return numbers && width_of(r) >= 1 && width_of(r) <= CLASSES_MAX;
}

/* Reads row i as numbers; booleans are bytes. */
static int read_numbers(const struct hdf5_library *lib, const struct rows *r, uint64_t i,
                        double *v, size_t n, struct strbuf *why)
{
    uint8_t *byte = (uint8_t *)v + n * (sizeof(*v) - 1);
    hdf5_id type;
    int rc;

    if (!is_boolean(r))
        return rows_read(lib, r, i, *lib->real64, v, why);
    type = lib->Dget_type(r->id);
    rc = rows_read(lib, r, i, type, byte, why);
    (void)lib->Tclose(type);
    for (size_t k = 0; k < n; k++) /* in place: v[k] overwrites no later byte */
        v[k] = byte[k];
    return rc;
}

static int read_row(const struct hdf5_library *lib, const struct rows *r,
                    struct samples *s, struct sample *dst, uint64_t i, double *v,
                    struct strbuf *why)
{
    size_t n = (size_t)width_of(r);
    int rc = read_numbers(lib, r, i, v, n, why);

    if (rc < 0)
        return rc;
    dst->label = n == 1 ? class_of_number(v[0]) : class_of_one_hot(v, n);
    if (dst->label >= 0)
        return 0;
    if (n == 1)
        samples_damage(s, dst, "its label %.6g is not a class index", v[0]);
    else
        samples_damage(s, dst, "its label has %zu values that are not one-hot", n);
    return 0;
}

/* Reads row i, which is a string. */
static int read_text(const struct hdf5_library *lib, const struct rows *r,
                     struct samples *s, struct sample *dst, uint64_t i,
                     struct strbuf *why)
{
    hdf5_size one = 1;
    hdf5_id type = lib->Dget_type(r->id), space = lib->Screate_simple(1, &one, NULL);
    char *buf = xcalloc(r->size + sizeof(char *), 1), *text = buf;
    int rc = rows_read(lib, r, i, type, buf, why);

    if (rc == 0 && r->variable)
        memcpy(&text, buf, sizeof(text));
    if (rc == 0 && text)
        class_of_text(s, dst, text, strnlen(text, r->variable ? 4096 : r->size),
                      "its label");
    if (rc == 0 && r->variable)
        (void)lib->Dvlen_reclaim(type, space, 0, buf);
    (void)lib->Sclose(space);
    (void)lib->Tclose(type);
    free(buf);
    return rc;
}

/* Reads all labels at once: one number per sample. */
static int read_list(const struct hdf5_library *lib, const struct rows *r,
                     struct samples *s, struct sample *dst, uint64_t n,
                     struct strbuf *why)
{
    double *label = xcalloc((size_t)n + 1, sizeof(*label));
    int rc =
        lib->Dread(r->id, *lib->real64, 0, 0, 0, label) < 0 ? rows_failure(lib, why) : 0;

    if (rc < 0)
        strbuf_addf(why, "%s'labels' cannot be read", why->len ? ": " : "");
    for (uint64_t i = 0; i < n && rc == 0; i++) {
        dst[i].label = class_of_number(label[i]);
        if (dst[i].label < 0)
            samples_damage(s, &dst[i], "its label %.6g is not a class index", label[i]);
    }
    free(label);
    return rc;
}

int labels_read(const struct hdf5_library *lib, const struct rows *r, struct samples *s,
                struct sample *dst, uint64_t n, struct strbuf *why)
{
    bool text = r->kind == HDF5_STRING;
    double *v;
    int rc = 0;

    if (!text && !is_boolean(r) && width_of(r) == 1)
        return read_list(lib, r, s, dst, n, why);
    v = xcalloc((size_t)width_of(r), sizeof(*v));
    for (uint64_t i = 0; i < n && rc == 0; i++)
        rc = text ? read_text(lib, r, s, &dst[i], i, why)
                  : read_row(lib, r, s, &dst[i], i, v, why);
    free(v);
    return rc;
}
