#include "io/file_kind.h"

#include <stdlib.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { LOOK = 1024, SHOWN = 40 };

/* Matches bytes at an offset of a file. The literal may contain NULs. */
#define MAGIC(start, bytes) .offset = (start), .magic = (bytes), .len = sizeof(bytes) - 1

static const struct kind {
    size_t offset, len;
    const char *magic, *what;
} kinds[] = {
    {MAGIC(0, "version https://git-lfs"),
     .what = "a pointer of git-lfs; 'git lfs pull' fetches the file itself"},
    {MAGIC(0, "\x1f\x8b"), .what = "compressed by gzip: unpack it with gunzip"},
    {MAGIC(0, "BZh"), .what = "compressed by bzip2: unpack it"},
    {MAGIC(0, "\xfd"
              "7zXZ"),
     .what = "compressed by xz: unpack it"},
    {MAGIC(0, "\x28\xb5\x2f\xfd"), .what = "compressed by zstd: unpack it"},
    {MAGIC(0, "7z\xbc\xaf\x27\x1c"), .what = "an archive of 7-zip: unpack it"},
    {MAGIC(0, "Rar!"), .what = "a RAR archive: unpack it"},
    {MAGIC(257, "ustar"), .what = "a tar archive: unpack it"},
    {MAGIC(0, "\x89HDF\r\n"),
     .what = "HDF5, as Keras saves: its names and shapes are others than PyTorch's"},
    {MAGIC(0, "GGUF"), .what = "GGUF, quantized weights of llama.cpp"},
    {MAGIC(4, "TFL3"), .what = "a model of TensorFlow Lite"},
    {MAGIC(0, "\x93NUMPY"), .what = "an array of NumPy (.npy)"},
    {MAGIC(0, "\x89PNG"), .what = "a PNG image"},
    {MAGIC(0, "\xff\xd8\xff"), .what = "a JPEG image"},
    {MAGIC(0, "GIF8"), .what = "a GIF image"},
    {MAGIC(0, "%PDF"), .what = "a PDF document"},
    {MAGIC(0, "\x7f"
              "ELF"),
     .what = "a program or library (ELF)"},
    {MAGIC(0, "(dp"), .what = "a pickle of Python in protocol 0, not of torch.save"},
    {MAGIC(0, "\0\0\0\0\0\0\0\0"),
     .what = "zeros where its header should be: a download that did not end?"},
};

/* True for PyTorch's tar archives, which begin with one of these names. */
static bool is_torch_tar(const char *start, size_t n)
{
    static const char *const first[] = {"sys_info", "pickle", "tensors", "storages"};

    if (n < 262 || memcmp(start + 257, "ustar", 5) != 0)
        return false;
    for (int i = 0; i < 4; i++)
        if (!strcmp(start, first[i]))
            return true;
    return false;
}

/* True for a protocol buffer that begins with ir_version, then the producer's name. */
static bool is_onnx(const char *start, size_t n)
{
    return n > 8 && start[0] == 8 && start[1] > 0 && start[1] < 32 &&
           (start[2] == 0x12 || start[2] == 0x3a);
}

/* True for UTF-8 without control characters other than white space. The last character
 * may be incomplete. */
static bool is_text(const char *start, size_t n)
{
    const unsigned char *c = (const unsigned char *)start, *end = c + n;

    while (c < end) {
        size_t len = utf8_len(c);

        if (!len)
            return end - c < 4 && n == LOOK;
        if (*c == 0x7f || (*c < ' ' && !strchr("\t\n\r\f", *c)))
            return false;
        c += len;
    }
    return true;
}

/* Appends the kind of a text, from its first word. */
static void text_kind(const char *s, struct strbuf *what)
{
    char line[SHOWN + 1] = "";

    if (!strncasecmp(s, "<!doctype html", 14) || !strncasecmp(s, "<html", 5) ||
        !strncasecmp(s, "<head", 5)) {
        strbuf_addstr(what, "a web page (HTML): the download was refused, or its address "
                            "is that of a page about the file");
    } else if (*s == '{' && strstr(s, "\"weight_map\"")) {
        strbuf_addstr(what, "the index of weights in several files, which are not read "
                            "together: save them as one");
    } else {
        memcpy(line, s, strcspn(s, "\r\n") < SHOWN ? strcspn(s, "\r\n") : SHOWN);
        utf8_clean(line);
        strbuf_addf(what, "%s that begins with '%s'", *s == '{' ? "JSON" : "a text",
                    line);
    }
}

static bool by_magic(const char *start, size_t n, struct strbuf *what)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct kind *k = &kinds[i];

        if (n < k->offset + k->len || memcmp(start + k->offset, k->magic, k->len) != 0)
            continue;
        strbuf_addstr(what, k->what);
        return true;
    }
    return false;
}

bool file_kind(const struct input *in, struct strbuf *what)
{
    size_t n = in->size < LOOK ? (size_t)in->size : LOOK;
    char *start = xcalloc(1, LOOK + 1);
    struct strbuf unread = STRBUF_INIT;
    bool known = true;

    if (!n)
        strbuf_addstr(what, "an empty file");
    else if (input_read(in, start, n, 0, &unread))
        known = false;
    else if (is_torch_tar(start, n))
        strbuf_addstr(what, "a tar archive of PyTorch before 0.2: "
                            "torch.save(torch.load(FILE), ...) makes a file to read");
    else if (is_onnx(start, n))
        strbuf_addstr(what, "an ONNX model, whose names are not those of a state dict");
    else if (!by_magic(start, n, what) && (known = is_text(start, n)))
        text_kind(start + strspn(start, " \t\r\n\f"), what);
    strbuf_release(&unread);
    free(start);
    return known;
}
