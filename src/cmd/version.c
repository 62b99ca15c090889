/* trainc --version: prints what a bug report should contain. */
#include <stdio.h>
/* jpeglib.h needs FILE. */
#include <archive.h>
#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <yaml.h>
#include <zip.h>
#include <zlib.h>

#include "base/say.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cpu/onednn.h"
#include "session/devices.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define TEXT(x)       #x
#define MACRO_TEXT(x) TEXT(x)

static void print_devices(void)
{
    const struct backend *b;

    say("devices:");
    for (int i = 0; (b = device_at(i)) != NULL; i++)
        say("%s %s", i ? "," : "", b->name);
    say("\n");
}

/* Prints the versions of the loaded libraries. That of libjpeg-turbo is known only at
 * compile time. */
static void print_libraries(void)
{
    unsigned webp = (unsigned)WebPGetDecoderVersion();
    const char *tiff = TIFFGetVersion(); /* "LIBTIFF, Version 4.5.0\nCopyright..." */
    int archive = archive_version_number();
    int major = 0, minor = 0, patch = 0;

    (void)sscanf(tiff, "LIBTIFF, Version %d.%d.%d", &major, &minor, &patch);
    say("libraries: oneDNN %s, libjpeg-turbo %s, libpng %s, libtiff %d.%d.%d, "
        "libwebp %u.%u.%u,\n",
        onednn_version(), MACRO_TEXT(LIBJPEG_TURBO_VERSION), png_get_libpng_ver(NULL),
        major, minor, patch, webp >> 16, webp >> 8 & 255, webp & 255);
    say("  libyaml %s, libarchive %d.%d.%d, libzip %s, zlib %s\n",
        yaml_get_version_string(), archive / 1000000, archive / 1000 % 1000,
        archive % 1000, zip_libzip_version(), zlibVersion());
}

void version_print(void)
{
    say("trainc %s\n", TRAINC_VERSION);
    /* Empty if the sources are not in a git repository. */
    say("commit: %s\n", *TRAINC_COMMIT ? TRAINC_COMMIT : "unknown");
    say("compiler: %s\n", COMPILER);
    print_devices();
    print_libraries();
}
