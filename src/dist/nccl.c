#include "dist/nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dist/member.h"
#include "dist/roll_net.h"

static const struct backend_link *engine;
static int device;
static void *opened; /* result of engine->open */

void dist_nccl(const struct backend_link *l, int index)
{
    engine = l;
    device = index;
}

static void reduce(void *x, int64_t n, enum member_type type, bool largest)
{
    member_waits(0, true);
    engine->reduce(opened, x, n, type == MEMBER_DOUBLE, largest);
    member_waits(0, false);
}

static void broadcast(void *x, int64_t n)
{
    member_waits(0, true);
    engine->broadcast(opened, x, n);
    member_waits(0, false);
}

static void close_link(void)
{
    roll_net_close();
    engine->close(opened);
    opened = NULL;
    member_set(NULL, false);
}

static void collective_broadcast(const struct collective *c, void *x, int n)
{
    (void)c;
    broadcast(x, n);
}

static void collective_waits(const struct collective *c, bool waiting)
{
    (void)c;
    member_waits(0, waiting);
}

/* Writes "HOST:PORT" to `dst`. If torchrun's agent listens at MASTER_PORT itself, as its
 * variable says, uses the next port. */
static void find_address(char *dst, size_t size)
{
    const char *host = getenv("MASTER_ADDR"), *port = getenv("MASTER_PORT");
    const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
    char *end = NULL;
    long number = port ? strtol(port, &end, 10) : 0;

    if (!host || !*host || number < 1 || number > 65534 || *end)
        usage("MASTER_ADDR and MASTER_PORT have to say where the processes meet, as "
              "torchrun sets them: they are '%s' and '%s'",
              host ? host : "", port ? port : "");
    if (agent && !strcmp(agent, "True"))
        number++;
    (void)snprintf(dst, size, "%s:%ld", host, number);
}

bool dist_nccl_open(int world, int rank)
{
    static struct member m;
    char address[300];

    if (!engine)
        return false;
    find_address(address, sizeof(address));
    roll_net_open(world, rank, address);
    member_waits(0, true);
    opened = engine->open(device, world, rank, address);
    member_waits(0, false);
    m = (struct member){
        .world = world,
        .rank = rank,
        .reduce = reduce,
        .broadcast = broadcast,
        .close = close_link,
        .by_device = true,
        .collective = {.world = world,
                       .rank = rank,
                       .gather = member_gather,
                       .broadcast = collective_broadcast,
                       .waits = collective_waits,
                       .watch = member_watch},
    };
    member_set(&m, false);
    return true;
}
