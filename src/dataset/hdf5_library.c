#include "dataset/hdf5_library.h"

#include <stdbool.h>

#include "base/dynlib.h"

#define AT(field) offsetof(struct hdf5_library, field)
#define SYMBOL(name)                                                                     \
    {                                                                                    \
        "H5" #name, AT(name)                                                             \
    }

static const struct dynlib_symbol symbols[] = {
    SYMBOL(open),
    SYMBOL(get_libversion),
    SYMBOL(Eset_auto2),
    SYMBOL(Ewalk2),
    SYMBOL(Fopen),
    SYMBOL(Fcreate),
    SYMBOL(Fclose),
    SYMBOL(Lexists),
    SYMBOL(Dopen2),
    SYMBOL(Dcreate2),
    SYMBOL(Dget_space),
    SYMBOL(Dget_type),
    SYMBOL(Dset_extent),
    SYMBOL(Dread),
    SYMBOL(Dwrite),
    SYMBOL(Dvlen_reclaim),
    SYMBOL(Dclose),
    SYMBOL(Screate_simple),
    SYMBOL(Sget_simple_extent_ndims),
    SYMBOL(Sget_simple_extent_dims),
    SYMBOL(Sselect_hyperslab),
    SYMBOL(Sclose),
    SYMBOL(Tget_class),
    SYMBOL(Tget_size),
    SYMBOL(Tget_sign),
    SYMBOL(Tget_super),
    SYMBOL(Tvlen_create),
    SYMBOL(Tclose),
    SYMBOL(Pcreate),
    SYMBOL(Pset_chunk),
    SYMBOL(Pset_obj_track_times),
    SYMBOL(Pclose),
    SYMBOL(Dget_create_plist),
    SYMBOL(Pget_nfilters),
    SYMBOL(Pget_filter2),
    SYMBOL(Zfilter_avail),
    SYMBOL(Tis_variable_str),
    SYMBOL(Gopen2),
    SYMBOL(Gclose),
    {"H5T_NATIVE_UINT8_g", AT(uint8)},
    {"H5T_NATIVE_INT64_g", AT(int64)},
    {"H5T_NATIVE_DOUBLE_g", AT(real64)},
    {"H5P_CLS_DATASET_CREATE_ID_g", AT(dataset_create)},
    {0}};

static const char *const names[] = {
    "libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so.310",
    "libhdf5.so.310",        "libhdf5.so",     NULL};
static struct dynlib row = {
    .names = names, .package = "libhdf5-103-1", .symbols = symbols};

pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

static bool start(struct hdf5_library *lib, struct strbuf *why)
{
    unsigned major = 0, minor = 0, release = 0;

    if (dynlib_open(&row, lib, why) < 0)
        return false;
    if (lib->open() < 0 || lib->get_libversion(&major, &minor, &release) < 0 ||
        (major == 1 && minor < 10)) {
        strbuf_addf(why, "libhdf5 is version %u.%u.%u, but at least 1.10 is needed",
                    major, minor, release);
        return false;
    }
    (void)lib->Eset_auto2(0, NULL, NULL); /* silence the library's own messages */
    return true;
}

const struct hdf5_library *hdf5_library(struct strbuf *why)
{
    static struct hdf5_library library;
    static bool open;

    pthread_mutex_lock(&hdf5_lock);
    open = open || start(&library, why);
    pthread_mutex_unlock(&hdf5_lock);
    return open ? &library : NULL;
}
