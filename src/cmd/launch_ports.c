#include "cmd/launch_ports.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* True if the socket listens and other machines can reach it. */
static bool is_exposed(int fd, union address *a)
{
    socklen_t len = sizeof(*a), size = sizeof(int);
    int listens = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens ||
        getsockname(fd, &a->any, &len))
        return false;
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
    return a->any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* Moves a listening socket to the loopback interface: shutdown() removes its address, so it
 * can be bound again. */
static void move_to_loopback(int fd, union address *a)
{
    if (a->any.sa_family == AF_INET)
        a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        a->v6.sin6_addr = in6addr_loopback;
    if (a->any.sa_family == AF_INET)
        a->v4.sin_port = 0;
    else
        a->v6.sin6_port = 0;
    if (!shutdown(fd, SHUT_RDWR) && !bind(fd, &a->any, sizeof(*a)))
        (void)listen(fd, SOMAXCONN);
}

bool launch_ports_close(pid_t child)
{
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    char path[64];
    struct dirent *e;
    bool allowed = process >= 0;
    DIR *d;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)child);
    d = opendir(path);
    while (d && allowed && (e = readdir(d))) {
        int remote_fd = (int)strtol(e->d_name, NULL, 10);
        int fd =
            remote_fd > 2 ? (int)syscall(SYS_pidfd_getfd, process, remote_fd, 0) : -1;
        union address a = {0};

        allowed = remote_fd <= 2 || fd >= 0 || errno == EBADF || errno == ESRCH;
        if (fd >= 0 && is_exposed(fd, &a))
            move_to_loopback(fd, &a);
        if (fd >= 0)
            (void)close(fd);
    }
    if (d)
        (void)closedir(d);
    if (process >= 0)
        (void)close(process);
    return allowed;
}
