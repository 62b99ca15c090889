#include "image/encode.h"

#include <turbojpeg.h>

#include "base/alloc.h"
#include "base/error.h"

unsigned char *jpeg_encode(const uint8_t *rgb, int w, int h, int quality, size_t *len)
{
    tjhandle tj = tjInitCompress();
    unsigned char *buf = NULL, *copy;
    unsigned long size = 0;

    if (!tj ||
        tjCompress2(tj, rgb, w, 0, h, TJPF_RGB, &buf, &size, TJSAMP_444, quality, 0))
        die("cannot encode a JPEG of %d by %d pixels: %s", w, h, tjGetErrorStr2(tj));
    copy = xmemdup(buf, size); /* the library's allocator may not be malloc */
    tjFree(buf);
    (void)tjDestroy(tj);
    *len = size;
    return copy;
}
