#include "dataset/hdf5_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/utf8.h"

static void rows_type(const struct hdf5_library *lib, struct rows *r)
{
    hdf5_id type = lib->Dget_type(r->id), element = -1;

    r->kind = lib->Tget_class(type);
    r->variable = r->kind == HDF5_STRING && lib->Tis_variable_str(type) > 0;
    r->files = r->kind == HDF5_VLEN;
    if (r->files) {
        element = lib->Tget_super(type);
        r->kind = lib->Tget_class(element);
        (void)lib->Tclose(type);
        type = element;
    }
    r->bytes =
        r->kind == HDF5_INTEGER && lib->Tget_size(type) == 1 && lib->Tget_sign(type) == 0;
    r->size = lib->Tget_size(type);
    (void)lib->Tclose(type);
}

/* Appends the reason why an existing name cannot be opened as a dataset. */
static void report_unopened(const struct hdf5_library *lib, hdf5_id file,
                            const char *name, struct strbuf *why)
{
    unsigned major = 0, minor = 0, release = 0;
    hdf5_id group = lib->Gopen2(file, name, 0);

    if (group >= 0) {
        strbuf_addf(why, "'%s' is a group: expected a dataset", name);
        (void)lib->Gclose(group);
        return;
    }
    (void)lib->get_libversion(&major, &minor, &release);
    strbuf_addf(why,
                "libhdf5 %u.%u.%u cannot open '%s': a newer release of HDF5 wrote it; "
                "write the file with libver=('earliest', 'v110') in h5py",
                major, minor, release, name);
}

int rows_open(const struct hdf5_library *lib, hdf5_id file, const char *name,
              struct rows *r, struct strbuf *why)
{
    hdf5_id space;

    r->id = -1;
    if (lib->Lexists(file, name, 0) <= 0)
        return 0;
    r->id = lib->Dopen2(file, name, 0);
    if (r->id < 0) {
        report_unopened(lib, file, name, why);
        return -1;
    }
    space = lib->Dget_space(r->id);
    r->rank = lib->Sget_simple_extent_ndims(space);
    if (r->rank >= 1 && r->rank <= 4)
        (void)lib->Sget_simple_extent_dims(space, r->dims, NULL);
    (void)lib->Sclose(space);
    rows_type(lib, r);
    return 0;
}

/* Names of filters registered with the HDF Group. */
static const struct {
    int id;
    const char *name;
} filters[] = {
    {1, "deflate"}, {2, "shuffle"},        {3, "fletcher32"},  {4, "szip"},
    {5, "nbit"},    {6, "scaleoffset"},    {305, "lzo"},       {307, "bzip2"},
    {32000, "lzf"}, {32001, "blosc"},      {32002, "mafisc"},  {32003, "snappy"},
    {32004, "lz4"}, {32006, "cbf"},        {32007, "jpeg-xr"}, {32008, "bitshuffle"},
    {32013, "zfp"}, {32014, "fpzip"},      {32015, "zstd"},    {32016, "b3d"},
    {32017, "sz"},  {32018, "fcidecomp"},  {32019, "jpeg"},    {32022, "bitgroom"},
    {32024, "sz3"}, {32025, "delta-rice"}, {32026, "blosc2"}};

enum { FILTERS = sizeof(filters) / sizeof(filters[0]) };

static const char *filter_name(int id, char *stored)
{
    for (int i = 0; i < FILTERS; i++)
        if (filters[i].id == id)
            return filters[i].name;
    utf8_clean(stored);
    return *stored ? stored : "no name";
}

int rows_check_filters(const struct hdf5_library *lib, const struct rows *r,
                       const char *name, struct strbuf *why)
{
    hdf5_id list = r->id < 0 ? -1 : lib->Dget_create_plist(r->id);
    int n = list < 0 ? 0 : lib->Pget_nfilters(list), missing = -1;
    char stored[64] = "";

    for (int i = 0; i < n && missing < 0; i++) {
        size_t values = 0;
        unsigned flags = 0, config;
        int id = lib->Pget_filter2(list, (unsigned)i, &flags, &values, NULL,
                                   sizeof(stored), stored, &config);

        stored[sizeof(stored) - 1] = '\0';
        if (id >= 0 && lib->Zfilter_avail(id) <= 0)
            missing = id;
    }
    if (list >= 0)
        (void)lib->Pclose(list);
    if (missing < 0)
        return 0;
    strbuf_addf(
        why,
        "'%s' is compressed with filter %d (%s), which this libhdf5 lacks: install its "
        "plugin (HDF5_PLUGIN_PATH), or write the file with gzip or uncompressed",
        name, missing, filter_name(missing, stored));
    return -1;
}

/* Appends a description such as "[120, 3, 32, 32] of floats". */
void rows_describe(const struct rows *r, struct strbuf *dst)
{
    const char *kind = r->kind == HDF5_INTEGER  ? "integers"
                       : r->kind == HDF5_FLOAT  ? "floats"
                       : r->kind == HDF5_STRING ? "strings"
                       : r->kind == HDF5_OPAQUE ? "opaque bytes"
                       : r->kind == HDF5_ENUM   ? "booleans or an enumeration"
                                                : "another type";

    if (r->rank < 1 || r->rank > 4)
        strbuf_addf(dst, "%d dimensions", r->rank);
    for (int i = 0; i < r->rank && r->rank <= 4; i++)
        strbuf_addf(dst, "%s%llu%s", i ? ", " : "[", r->dims[i],
                    i + 1 < r->rank ? "" : "]");
    strbuf_addf(dst, " of %s%s", r->bytes ? "uint8" : kind,
                r->files ? " of variable length" : "");
}

/* Callback for the library's error stack, innermost entry first: extracts the errno of a
 * failed read(). */
static int rows_on_error(unsigned depth, const struct hdf5_error *e, void *err)
{
    const char *text = e->description ? e->description : "";
    const char *number = strstr(text, "errno = ");
    int *found = err;

    (void)depth;
    if (!*found && number)
        *found = (int)strtol(number + 8, NULL, 10);
    else if (!*found && strstr(text, "memory allocation failed"))
        *found = ENOMEM;
    return 0;
}

int rows_failure(const struct hdf5_library *lib, struct strbuf *why)
{
    int err = 0;

    (void)lib->Ewalk2(0, 0, rows_on_error, &err);
    if (!failure_passes(err))
        return FAILURE_DATA;
    strbuf_addstr(why, strerror(err));
    return FAILURE_MACHINE;
}

int rows_read(const struct hdf5_library *lib, const struct rows *r, uint64_t i,
              hdf5_id type, void *dst, struct strbuf *why)
{
    hdf5_size start[4] = {i}, count[4] = {1, r->dims[1], r->dims[2], r->dims[3]};
    hdf5_id space = lib->Dget_space(r->id);
    hdf5_id memory = lib->Screate_simple(r->rank, count, NULL);
    int rc = lib->Sselect_hyperslab(space, HDF5_SELECT_SET, start, NULL, count, NULL);

    if (rc >= 0)
        rc = lib->Dread(r->id, type, memory, space, 0, dst);
    if (rc < 0) {
        rc = rows_failure(lib, why);
        strbuf_addf(why, "%srow %llu cannot be read", why->len ? ": " : "",
                    (unsigned long long)i);
    }
    (void)lib->Sclose(space);
    (void)lib->Sclose(memory);
    return rc < 0 ? rc : 0;
}
