#include "io/npy.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/atomic.h"

enum { ALIGN = 64, START = 10 }; /* alignment of the data; bytes before the dictionary */

static size_t array_bytes(const struct npy_array *a)
{
    size_t n = a->text ? (size_t)a->text : sizeof(float);

    for (int i = 0; i < a->ndim; i++)
        n *= (size_t)a->dim[i];
    return n;
}

/* Returns everything before the data, a heap block of *len bytes. */
static char *header(const struct npy_array *a, size_t *len)
{
    struct strbuf s = STRBUF_INIT;
    char *h;

    if (a->text)
        strbuf_addf(&s, "{'descr': '|S%d'", a->text);
    else
        strbuf_addstr(&s, "{'descr': '<f4'");
    strbuf_addstr(&s, ", 'fortran_order': False, 'shape': (");
    for (int i = 0; i < a->ndim; i++)
        strbuf_addf(&s, "%lld%s", (long long)a->dim[i],
                    i + 1 < a->ndim ? ", "
                    : a->ndim == 1  ? ","
                                    : "");
    strbuf_addstr(&s, "), }");
    while ((START + s.len + strlen(NPY_MARK)) % ALIGN)
        strbuf_addch(&s, ' ');
    strbuf_addstr(&s, NPY_MARK);
    *len = START + s.len;
    h = xmalloc(*len);
    memcpy(h, "\x93NUMPY\1\0", 8);
    h[8] = (char)(s.len & 255);
    h[9] = (char)(s.len >> 8);
    memcpy(h + START, s.buf, s.len);
    strbuf_release(&s);
    return h;
}

int npy_write(const char *path, const struct npy_array *a, struct strbuf *why)
{
    struct atomic_file f;
    size_t len;
    char *h = header(a, &len);

    atomic_open(&f, path);
    atomic_write(&f, h, len);
    atomic_write(&f, a->data, array_bytes(a));
    free(h);
    return atomic_commit(&f, why);
}

static int add(zip_t *z, const struct npy_array *a, char *head, size_t len)
{
    zip_buffer_fragment_t part[] = {
        {(zip_uint8_t *)head, len},
        {(zip_uint8_t *)(uintptr_t)a->data, array_bytes(a)},
    };
    char *name = xasprintf("%s.npy", a->name);
    zip_source_t *source = zip_source_buffer_fragment(z, part, 2, 0);
    zip_int64_t pos = source ? zip_file_add(z, name, source, ZIP_FL_ENC_UTF_8) : -1;

    free(name);
    if (pos < 0 && source)
        zip_source_free(source);
    if (pos < 0 || zip_set_file_compression(z, (zip_uint64_t)pos, ZIP_CM_STORE, 0))
        return -1;
    return zip_file_set_dostime(z, (zip_uint64_t)pos, 0, 0x21, 0); /* 1980-01-01 */
}

int npz_write(const char *path, const struct npy_array *a, int n, struct strbuf *why)
{
    char **head = xcalloc((size_t)n, sizeof(*head));
    int code = 0, rc;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    zip_error_t error;

    zip_error_init_with_code(&error, code);
    rc = z ? 0 : -1;
    for (int i = 0; i < n && !rc; i++) {
        size_t len;

        head[i] = header(&a[i], &len);
        rc = add(z, &a[i], head[i], len);
    }
    if (!rc)
        rc = zip_close(z); /* writes a temporary file and renames it */
    if (rc)
        strbuf_addf(why, "cannot write '%s': %s", path,
                    z ? zip_strerror(z) : zip_error_strerror(&error));
    if (rc && z)
        zip_discard(z);
    zip_error_fini(&error);
    for (int i = 0; i < n; i++)
        free(head[i]);
    free(head);
    return rc;
}
