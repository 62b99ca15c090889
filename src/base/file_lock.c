#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_at(int fd, const char *path)
{
    struct stat open_file, named;

    return !fstat(fd, &open_file) && !stat(path, &named) &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

static void lock(int fd, void (**waiting)(void *arg), void *arg)
{
    if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
        return;
    if (*waiting)
        (*waiting)(arg);
    *waiting = NULL;
    while (flock(fd, LOCK_EX) && errno == EINTR)
        ;
}

int file_lock(const char *path, void (*waiting)(void *arg), void *arg)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

        if (fd < 0)
            return -1;
        lock(fd, &waiting, arg);
        if (is_at(fd, path))
            return fd;
        (void)close(fd);
    }
}
