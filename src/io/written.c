#include "io/written.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/version.h"
#include "io/npy.h"
#include "io/safetensors_sum.h"

enum { START = 4096 }; /* number of bytes checked; a palette takes 768 */

static bool is_json(const char *s, size_t len)
{
    static const char key[] = "\"trainc\":";
    size_t pos = 1;

    while (pos < len && strchr(" \n", s[pos]) && s[pos])
        pos++;
    return len && *s == '{' && len - pos >= sizeof(key) &&
           !memcmp(s + pos, key, sizeof(key) - 1);
}

static bool is_image(const char *s, size_t len)
{
    static const char start[] = "\x89PNG\r\n\x1a\n";
    static const char mark[] = "tEXt" WRITTEN_KEYWORD "\0" WRITTEN_TEXT;

    return len > 8 && !memcmp(s, start, 8) &&
           memmem(s, len, mark, sizeof(mark) - 1) != NULL;
}

static bool is_weights(const char *s, size_t len)
{
    static const char start[] = "{\"__metadata__\":{\"" SAFETENSORS_SUM_KEY "\":\"";

    return len > 8 + sizeof(start) && !memcmp(s + 8, start, sizeof(start) - 1);
}

/* True for .npy, or for .npz whose first member is an array of trainc's. */
static bool is_arrays(const char *s, size_t len)
{
    return len > 6 && (!memcmp(s, "\x93NUMPY", 6) || !memcmp(s, "PK\3\4", 4)) &&
           memmem(s, len, NPY_MARK, sizeof(NPY_MARK) - 1) != NULL;
}

/* True for an ONNX ModelProto with ir_version (field 1), then producer_name (field 2). */
static bool is_onnx(const char *s, size_t len)
{
    static const char name[] = "\x12\6"
                               "trainc";

    return len > 2 + sizeof(name) && s[0] == 8 && !memcmp(s + 2, name, sizeof(name) - 1);
}

static bool is_table(const char *s, size_t len)
{
    static const char *const start[] = {"image,class1,", "image,labels,class1,",
                                        "image,predicted_", "image,finding,"};

    for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++)
        if (len > strlen(start[i]) && !memcmp(s, start[i], strlen(start[i])))
            return true;
    return false;
}

static bool is_page(const char *s, size_t len)
{
    static const char mark[] = "<meta name=\"generator\" content=\"trainc\">";

    return memmem(s, len, mark, sizeof(mark) - 1) != NULL;
}

static const struct {
    bool (*is)(const char *start, size_t len);
    const char *why;
} kinds[] = {
    [WRITTEN_JSON] = {is_json, "the file exists and is not a JSON file of trainc"},
    [WRITTEN_IMAGE] = {is_image, "the file exists and is not an image of trainc"},
    [WRITTEN_WEIGHTS] = {is_weights,
                         "the file exists and is not a file of weights of trainc"},
    [WRITTEN_TABLE] = {is_table, "the file exists and is not a table of trainc"},
    [WRITTEN_ARRAYS] = {is_arrays,
                        "the file exists and is not a file of arrays of trainc"},
    [WRITTEN_PAGE] = {is_page, "the file exists and is not a page of trainc"},
    [WRITTEN_ONNX] = {is_onnx, "the file exists and is not an ONNX model of trainc"},
};

/* Reads the start of a file. Returns -1 if it does not exist or is empty. */
static ssize_t read_start(const char *path, char start[START])
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t len = -1;
    struct stat st;

    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size)
        len = pread(fd, start, START, 0);
    (void)close(fd);
    return len;
}

bool written_is(const char *path, enum written kind)
{
    char start[START];
    ssize_t len = read_start(path, start);

    return len > 0 && kinds[kind].is(start, (size_t)len);
}

const char *written_refuse(const char *path, enum written kind)
{
    struct stat st;

    if (!strcmp(path, "-") || stat(path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
        return NULL;
    return written_is(path, kind) ? NULL : kinds[kind].why;
}

void written_begin(struct json_writer *w)
{
    json_begin_object(w, NULL);
    json_put_string(w, "trainc", TRAINC_VERSION);
}
