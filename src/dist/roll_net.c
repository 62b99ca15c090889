#include "dist/roll_net.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "dist/roll_call.h"

/* Maximum length of a host name; maximum number of missing processes listed. */
enum { HOST = 64, NAMED = 4, MAGIC = 0x74726331 };
static const double lately = 2; /* seconds within which a waiting process is heard */

struct absent {
    int32_t rank;
    char host[HOST]; /* "": never heard */
};

/* To rank 0: `rank` is alive, and whether it waits. From rank 0: the processes that do
 * not wait. Processes of one run share their byte order. */
struct datagram {
    int32_t magic, world, rank, waits;
    char host[HOST];
    int32_t missing; /* number of missing processes; the first ones are listed */
    struct absent absent[NAMED];
};

struct peer {
    double waited; /* clock_now() of its last message that it waits; 0: never */
    char host[HOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    int fd; /* -1: not open */
    int world, rank;
    bool waits;        /* at the last tick */
    struct peer *peer; /* rank 0: [world] */
    double answered;   /* other ranks: time of rank 0's last answer; 0: never */
    bool refused;      /* rank 0's port is closed */
    struct datagram answer;
} net = {.fd = -1};

/* Binds or connects a socket to that address. Returns -1 on failure. */
static int socket_at(const struct addrinfo *a, bool bind_port)
{
    int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc, no = 0;

    if (fd < 0)
        return -1;
    if (bind_port && a->ai_family == AF_INET6) /* the same socket serves IPv4 */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind_port)
        rc = bind(fd, a->ai_addr, a->ai_addrlen);
    else
        rc = connect(fd, a->ai_addr, a->ai_addrlen);
    if (!rc)
        return fd;
    (void)close(fd);
    return -1;
}

/* A loopback name means that all processes are on this machine: the port must not be
 * reachable from outside. */
static bool is_loopback(const char *host)
{
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) ||
           !strcmp(host, "::1");
}

/* Connects to "host:port" or, with `bind_port`, binds that port of this machine. Returns -1 on
 * failure. */
static int open_socket(const char *address, bool bind_port)
{
    static const int families[] = {AF_INET6, AF_INET};
    const char *colon = strrchr(address, ':');
    char *host = xasprintf("%.*s", (int)(colon - address), address);
    bool any = bind_port && !is_loopback(host);
    int fd = -1;

    for (int i = 0; i < (any ? 2 : 1) && fd < 0; i++) {
        struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                 .ai_family = any ? families[i] : AF_UNSPEC,
                                 .ai_flags = any ? AI_PASSIVE : 0},
                        *all = NULL;

        if (getaddrinfo(any ? NULL : host, colon + 1, &hints, &all))
            continue;
        for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
            fd = socket_at(a, bind_port);
        freeaddrinfo(all);
    }
    free(host);
    return fd;
}

void roll_net_open(int world, int rank, const char *address)
{
    (void)pthread_mutex_lock(&lock);
    net.world = world;
    net.rank = rank;
    net.peer = xcalloc((size_t)world, sizeof(*net.peer));
    (void)snprintf(net.peer[rank].host, HOST, "%s", roll_call_host());
    net.fd = open_socket(address, rank == 0);
    (void)pthread_mutex_unlock(&lock);
}

void roll_net_close(void)
{
    (void)pthread_mutex_lock(&lock);
    if (net.fd >= 0)
        (void)close(net.fd);
    net.fd = -1;
    (void)pthread_mutex_unlock(&lock);
}

static void copy_host(char dst[HOST], const char src[HOST])
{
    int i = 0;

    for (; i < HOST - 1 && isgraph((unsigned char)src[i]); i++)
        dst[i] = src[i];
    dst[i] = '\0';
}

/* Rank 0: lists the processes that do not wait now, itself included. Lists none if no
 * message ever arrived: then none may be able to arrive. */
static void call_roll(struct datagram *d)
{
    double now = clock_now();
    bool heard = false;

    d->missing = 0;
    for (int r = 0; r < net.world; r++) {
        const struct peer *p = &net.peer[r];

        heard |= p->waited > 0;
        if (r ? now - p->waited < lately : net.waits)
            continue;
        if (d->missing < NAMED) {
            d->absent[d->missing].rank = r;
            copy_host(d->absent[d->missing].host, p->host);
        }
        d->missing++;
    }
    d->missing = heard ? d->missing : 0;
}

static bool is_ours(const struct datagram *d, ssize_t size)
{
    return size == (ssize_t)sizeof(*d) && d->magic == MAGIC && d->world == net.world;
}

/* Rank 0: receives the messages of the others and answers each. */
static void serve(void)
{
    struct datagram d = {0};
    struct sockaddr_storage storage;
    struct sockaddr *src = (struct sockaddr *)&storage;
    socklen_t len = sizeof(storage);
    ssize_t size;

    while ((size = recvfrom(net.fd, &d, sizeof(d), 0, src, &len)) >= 0) {
        if (is_ours(&d, size) && d.rank > 0 && d.rank < net.world) {
            copy_host(net.peer[d.rank].host, d.host);
            net.peer[d.rank].waited = d.waits ? clock_now() : net.peer[d.rank].waited;
            call_roll(&d);
            d.rank = 0;
            copy_host(d.host, net.peer[0].host);
            (void)sendto(net.fd, &d, sizeof(d), 0, src, len);
        }
        len = sizeof(storage);
    }
}

/* Other ranks: report to rank 0 while waiting, and until it has answered once. Errors are
 * ignored: only a missing answer counts. */
static void report(bool waits)
{
    struct datagram d = {
        .magic = MAGIC, .world = net.world, .rank = net.rank, .waits = waits};
    ssize_t size;

    if (waits || !(net.answered > 0)) {
        copy_host(d.host, net.peer[net.rank].host);
        (void)!send(net.fd, &d, sizeof(d), 0);
    }
    while ((size = recv(net.fd, &d, sizeof(d), 0)) >= 0 || errno == ECONNREFUSED)
        if (size < 0) {
            net.refused = true;
        } else if (is_ours(&d, size) && d.rank == 0) {
            net.answer = d;
            net.answered = clock_now();
            net.refused = false;
            copy_host(net.peer[0].host, d.host);
        }
}

void roll_net_tick(bool waits)
{
    (void)pthread_mutex_lock(&lock);
    net.waits = waits;
    if (net.fd >= 0 && net.rank == 0)
        serve();
    else if (net.fd >= 0)
        report(waits);
    (void)pthread_mutex_unlock(&lock);
}

/* Other ranks: rank 0 is missing if it has answered before and no longer does, or if its
 * machine refuses the port. */
static struct datagram last_answer(void)
{
    struct datagram d = {0};

    if (clock_now() - net.answered < lately && !net.refused)
        return net.answer;
    if (net.answered > 0 || net.refused) {
        d.missing = 1;
        copy_host(d.absent[0].host, net.peer[0].host);
    }
    return d;
}

bool roll_net_missing(struct strbuf *who)
{
    struct datagram d = {0};

    (void)pthread_mutex_lock(&lock);
    if (net.fd >= 0 && net.rank == 0)
        call_roll(&d);
    else if (net.fd >= 0)
        d = last_answer();
    if (!d.missing && net.world == 2) { /* the other one, then */
        d.missing = 1;
        d.absent[0].rank = 1 - net.rank;
    }
    (void)pthread_mutex_unlock(&lock);
    for (int i = 0; i < d.missing && i < NAMED; i++) {
        char host[HOST];

        copy_host(host, d.absent[i].host);
        strbuf_addf(who, "%srank %d%s%s", i ? ", " : "", d.absent[i].rank,
                    *host ? " on host " : "", host);
    }
    if (d.missing > NAMED)
        strbuf_addf(who, " and %d more", d.missing - NAMED);
    return d.missing > 0;
}
