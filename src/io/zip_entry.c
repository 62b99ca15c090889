#include "io/zip_entry.h"

#include <stdlib.h>
#include <zip.h>

enum { CHUNK = 1 << 20 };

/* Releases the error. */
static void refuse_zip(const struct input *in, zip_error_t *e, struct strbuf *why)
{
    (void)input_refuse(in, why, "a damaged zip archive, or one that is cut off (%s)",
                       zip_error_strerror(e));
    zip_error_fini(e);
}

struct zip *zip_entry_open(struct input *in, struct strbuf *why)
{
    int code = 0;
    zip_error_t e;
    struct zip *zip = zip_fdopen(in->fd, 0, &code);

    if (zip) {
        in->fd = -1; /* now owned by the archive */
        return zip;
    }
    zip_error_init_with_code(&e, code);
    refuse_zip(in, &e, why);
    return NULL;
}

struct zip *zip_entry_open_bytes(const struct input *in, void *data, uint64_t size,
                                 struct strbuf *why)
{
    zip_error_t e;
    zip_source_t *source;
    struct zip *zip = NULL;

    zip_error_init(&e);
    source = zip_source_buffer_create(data, size, 1, &e);
    if (source)
        zip = zip_open_from_source(source, ZIP_RDONLY, &e);
    else
        free(data);
    if (zip)
        return zip;
    if (source)
        zip_source_free(source);
    refuse_zip(in, &e, why);
    return NULL;
}

int64_t zip_entry_find(struct zip *zip, const char *name)
{
    return zip_name_locate(zip, name, ZIP_FL_ENC_RAW);
}

uint64_t zip_entry_size(const struct input *in, struct zip *zip, int64_t i)
{
    zip_stat_t st;

    if (zip_stat_index(zip, (zip_uint64_t)i, 0, &st))
        return 0;
    return st.comp_method == ZIP_CM_STORE && st.size > in->size ? in->size : st.size;
}

uint64_t zip_entry_inflated(struct zip *zip, int64_t i)
{
    zip_stat_t st;

    return zip_stat_index(zip, (zip_uint64_t)i, 0, &st) || st.comp_method == ZIP_CM_STORE
               ? 0
               : st.size;
}

int zip_entry_read(const struct input *in, struct zip *zip, uint64_t index,
                   uint64_t offset, uint64_t size, void *data, struct strbuf *why)
{
    const char *name = zip_get_name(zip, index, ZIP_FL_ENC_RAW);
    zip_file_t *z = zip_fopen_index(zip, index, 0);
    char *p = data, last;
    zip_int64_t got = 1;
    int rc = 0;

    if (!z)
        return input_refuse(in, why, "cannot read %s: %s", name, zip_strerror(zip));
    if (offset && zip_fseek(z, (zip_int64_t)offset, SEEK_SET))
        rc = input_refuse(in, why, "%s is compressed, and shared by several tensors",
                          name);
    while (!rc && size && (got = zip_fread(z, p, size < CHUNK ? size : CHUNK)) > 0) {
        p += got;
        size -= (uint64_t)got;
    }
    if (!rc && got > 0)
        got = zip_fread(z, &last, 1); /* the end, where the checksum is compared */
    if (!rc && (got < 0 || size))
        rc = input_refuse(in, why, "cannot read %s: %s", name,
                          got < 0 ? zip_file_strerror(z) : "it is cut off");
    (void)zip_fclose(z);
    return rc;
}
