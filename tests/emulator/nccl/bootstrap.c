#include "tests/emulator/nccl/bootstrap.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATH_SIZE = BOOTSTRAP_PATH };

void bootstrap_path(char *path)
{
    static int n;
    const char *dir = getenv("TMPDIR");

    (void)snprintf(path, PATH_SIZE, "%.80s/trainc-nccl.%d.%d", dir && *dir ? dir : "/tmp",
                   (int)getpid(), __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED));
}

void bootstrap_id(char *id, size_t size)
{
    const char *address = getenv("NCCL_COMM_ID");
    char path[PATH_SIZE];

    memset(id, 0, size);
    if (address && *address) {
        (void)snprintf(id, size, "@%s", address);
        return;
    }
    bootstrap_path(path);
    (void)snprintf(id, size, "%s", path);
}

static struct addrinfo *resolve(const char *address)
{
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    const char *colon = strrchr(address, ':');
    char host[128];

    if (!colon)
        return NULL;
    (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
    return getaddrinfo(host, colon + 1, &want, &found) ? NULL : found;
}

/* Rank 0: sends the path to each of the others. */
static const char *serve(const struct addrinfo *addrinfo, int world, const char *path)
{
    int enable = 1, s = socket(AF_INET, SOCK_STREAM, 0);

    (void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &enable, sizeof(enable));
    if (bind(s, addrinfo->ai_addr, addrinfo->ai_addrlen) || listen(s, world))
        return "bind: Address already in use";
    for (int i = 1; i < world; i++) {
        int other = accept(s, NULL, NULL);

        if (other < 0 || send(other, path, PATH_SIZE, MSG_NOSIGNAL) != PATH_SIZE)
            return "accept";
        (void)close(other);
    }
    (void)close(s);
    return NULL;
}

static const char *receive_path(const struct addrinfo *addrinfo, char *path)
{
    for (int i = 0; i < 300; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        bool there = !connect(s, addrinfo->ai_addr, addrinfo->ai_addrlen) &&
                     recv(s, path, PATH_SIZE, MSG_WAITALL) == PATH_SIZE;

        (void)close(s);
        if (there)
            return NULL;
        (void)usleep(100000);
    }
    return "connect: nobody there";
}

static struct team *find_at(const char *address, int world, int rank, const char **why)
{
    struct addrinfo *addrinfo = resolve(address);
    struct team *t = NULL;
    char path[PATH_SIZE] = "";

    if (!addrinfo) {
        *why = "NCCL_COMM_ID: no such host";
        return NULL;
    }
    if (!rank) {
        bootstrap_path(path);
        t = team_make(world, path);
    }
    *why = rank ? receive_path(addrinfo, path) : serve(addrinfo, world, path);
    freeaddrinfo(addrinfo);
    if (!*why && rank)
        t = team_join(path);
    if (*why)
        return NULL;
    team_meet(t);
    if (!rank)
        (void)unlink(path);
    return t;
}

struct team *bootstrap_find(const char *id, int world, int rank, const char **why)
{
    char part[PATH_SIZE + 8];
    struct team *t;

    if (*id == '@')
        return find_at(id + 1, world, rank, why);
    (void)snprintf(part, sizeof(part), "%s.new", id);
    if (!rank) {
        t = team_make(world, part);
        (void)rename(part, id);
    } else {
        for (int i = 0; i < 300 && access(id, R_OK); i++)
            (void)usleep(100000);
        t = team_join(id);
    }
    team_meet(t);
    if (!rank)
        (void)unlink(id);
    return t;
}
