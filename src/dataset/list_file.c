#include "dataset/list_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

bool list_file_read(struct list_file *l, const char *root, const char *name)
{
    size_t len;
    char *next;

    *l = (struct list_file){.path = path_join(root, name)};
    l->text = file_read(l->path, &len);
    if (!l->text && errno == ENOENT)
        return false;
    if (!l->text)
        die("cannot read '%s': %s", l->path, file_strerror(errno));
    if (strlen(l->text) != len)
        die("'%s' is not a text file: it contains a zero byte", l->path);
    next = l->text + (strncmp(l->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    for (int number = 1; next; number++) {
        char *start = next + strspn(next, " \t"), *end = strchr(next, '\n');

        next = end ? end + 1 : NULL;
        end = end ? end : start + strlen(start);
        while (end > start && strchr(" \t\r\n", end[-1]))
            end--;
        if (end <= start || *start == '#')
            continue;
        *end = '\0';
        GROW(l->line, l->n, l->cap);
        l->line[l->n++] = (struct line){start, number};
    }
    return true;
}

void list_file_release(struct list_file *l)
{
    free(l->path);
    free(l->text);
    free(l->line);
}

void list_file_refuse(const char *path, const struct line *line, const char *expected)
{
    if (strpbrk(line->text, ",;"))
        die("%s:%d: this looks like CSV: '%s'; expected '%s' separated by a space or tab "
            "(for .csv tables use --dataset csv)",
            path, line->number, line->text, expected);
    die("%s:%d: expected '%s', not '%s'", path, line->number, expected, line->text);
}
