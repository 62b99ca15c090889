/* Unix domain sockets at paths of any length, and their messages. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/json.h"
#include "train/background.h"

/* Binds or connects a socket. An address holds at most 107 bytes, so the path uses a
 * short name of the folder in /proc. Returns -1 and sets errno on failure. */
static int socket_at(const char *path,
                     int (*call)(int, const struct sockaddr *, socklen_t))
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = folder < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.80s",
                   folder, slash ? slash + 1 : path);
    if (fd >= 0) /* before bind: other users must not connect */
        (void)fchmod(fd, S_IRUSR | S_IWUSR);
    if (fd >= 0 && call(fd, (const struct sockaddr *)&address, sizeof(address))) {
        int error = errno;

        (void)close(fd);
        errno = error;
        fd = -1;
    }
    if (folder >= 0)
        (void)close(folder);
    free(dir);
    return fd;
}

int background_listen(const char *path)
{
    int fd;

    (void)unlink(path);
    fd = socket_at(path, bind);
    if (fd >= 0 && (listen(fd, 1) || fcntl(fd, F_SETFL, O_NONBLOCK))) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

int background_connect(const char *path)
{
    return socket_at(path, connect);
}

void background_result_put(struct strbuf *line, const struct background_result *r)
{
    struct json_writer w = json_writer(line);

    json_begin_object(&w, NULL);
    json_put_int(&w, "step", r->step);
    json_put_int(&w, "epoch", r->epoch);
    json_put_int(&w, "images", r->images);
    json_put_double(&w, "seconds", r->seconds);
    scores_put(&w, "val_", &r->val);
    scores_put(&w, "ema_", &r->ema);
    json_begin_array(&w, "val_iou");
    for (int k = 0; k < r->iou.n; k++)
        json_put_double(&w, NULL, r->iou.iou[k]);
    json_end(&w);
    json_end(&w);
}

bool background_result_get(const char *line, struct background_result *r)
{
    json_t *o = json_loads(line, 0, NULL);
    const json_t *iou = json_object_get(o, "val_iou"), *seconds;
    bool whole = json_is_integer(json_object_get(o, "step")) &&
                 json_is_integer(json_object_get(o, "epoch")) && json_is_array(iou) &&
                 json_array_size(iou) <= LABEL_CLASSES;

    if (whole) {
        seconds = json_object_get(o, "seconds");
        *r = (struct background_result){
            .step = json_integer_value(json_object_get(o, "step")),
            .epoch = json_integer_value(json_object_get(o, "epoch")),
            .images = json_integer_value(json_object_get(o, "images")),
            .seconds = json_number_value(seconds),
            .val = scores_get(o, "val_"),
            .ema = scores_get(o, "ema_"),
            .iou = {.n = (int)json_array_size(iou)},
        };
        for (int k = 0; k < r->iou.n; k++) {
            const json_t *v = json_array_get(iou, (size_t)k);

            r->iou.iou[k] = json_is_number(v) ? json_number_value(v) : (double)NAN;
        }
    }
    json_decref(o);
    return whole;
}
