/* The collectives of programs, by MPI or, for members, by their own library. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"
#include "dist/group.h"
#include "dist/member.h"
#include "dist/mpi_calls.h"

/* Maximum elements of an MPI call: its counts are ints. */
enum { MAX_COUNT = 1 << 28 };

enum { PENDING = 1024, GROUPS = 4 }; /* maximum sums in flight per team; maximum teams */

struct team {
    struct collective c;
    void *comm;             /* MPI_Comm */
    void *request[PENDING]; /* MPI_Request of the sums in flight */
    int pending;
    int *place; /* [3 * world]: counts and offsets of exchange() */
};

static struct team teams[GROUPS];
static int nteam;
static void *add_fp16, *add_bf16; /* MPI_Op */

static struct team *team_of(const struct collective *c)
{
    for (int i = 0; i < nteam; i++)
        if (&teams[i].c == c)
            return &teams[i];
    BUG("a collective of another module");
}

/* Returns the elements of n that the next call transfers. */
static int part(int64_t n)
{
    return (int)(n < MAX_COUNT ? n : MAX_COUNT);
}

static void all_reduce(const struct collective *c, void *x, int64_t n, size_t size,
                       void *type)
{
    const struct mpi_library *lib = mpi_opened();

    for (int64_t pos = 0; pos < n; pos += MAX_COUNT) {
        mpi_begin();
        mpi_check(lib->Allreduce(MPI_IN_PLACE_, (char *)x + (size_t)pos * size,
                                 part(n - pos), type, lib->sum, team_of(c)->comm),
                  "Allreduce");
    }
}

static void mean(const struct collective *c, float *x, int64_t n)
{
    float share = 1 / (float)c->world;

    all_reduce(c, x, n, sizeof(*x), mpi_opened()->type_float);
    for (int64_t i = 0; i < n; i++)
        x[i] *= share;
}

static void sum(const struct collective *c, double *x, int64_t n)
{
    all_reduce(c, x, n, sizeof(*x), mpi_opened()->type_double);
}

static void sum_fp16(void *in, void *inout, int *n, void **type)
{
    const uint16_t *x = in;
    uint16_t *y = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        y[i] = fp16_from_float(fp16_to_float(x[i]) + fp16_to_float(y[i]));
}

static void sum_bf16(void *in, void *inout, int *n, void **type)
{
    const uint16_t *x = in;
    uint16_t *y = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        y[i] = bf16_from_float(bf16_to_float(x[i]) + bf16_to_float(y[i]));
}

static void finish(const struct collective *c)
{
    struct team *t = team_of(c);

    if (!t->pending)
        return;
    mpi_begin();
    mpi_check(mpi_opened()->Waitall(t->pending, t->request, MPI_STATUSES_IGNORE_),
              "Waitall");
    t->pending = 0;
}

static void *adds(enum dtype t)
{
    return t == DTYPE_F32 ? mpi_opened()->sum : t == DTYPE_F16 ? add_fp16 : add_bf16;
}

static void *type_of(enum dtype t)
{
    return t == DTYPE_F32 ? mpi_opened()->type_float : mpi_opened()->type_uint16;
}

/* Returns room for one more request. */
static void **next_request(const struct collective *c)
{
    struct team *t = team_of(c);

    if (t->pending == PENDING)
        finish(c);
    return &t->request[t->pending++];
}

static void start(const struct collective *c, void *x, int64_t n, enum dtype type)
{
    for (int64_t pos = 0; pos < n; pos += MAX_COUNT) {
        void **request = next_request(c);

        mpi_begin();
        mpi_check(mpi_opened()->Iallreduce(MPI_IN_PLACE_,
                                           (char *)x + (size_t)pos * dtype_size(type),
                                           part(n - pos), type_of(type), adds(type),
                                           team_of(c)->comm, request),
                  "Iallreduce");
    }
}

static void start_to(const struct collective *c, void *x, int64_t n, enum dtype type,
                     int rank)
{
    for (int64_t pos = 0; pos < n; pos += MAX_COUNT) {
        void **request = next_request(c),
             *piece = (char *)x + (size_t)pos * dtype_size(type);

        mpi_begin();
        mpi_check(mpi_opened()->Ireduce(c->rank == rank ? MPI_IN_PLACE_ : piece, piece,
                                        part(n - pos), type_of(type), adds(type), rank,
                                        team_of(c)->comm, request),
                  "Ireduce");
    }
}

static void progress(const struct collective *c)
{
    struct team *t = team_of(c);
    int done;

    if (!t->pending)
        return;
    mpi_check(mpi_opened()->Testall(t->pending, t->request, &done, MPI_STATUSES_IGNORE_),
              "Testall");
    if (done)
        t->pending = 0;
}

static void gather(const struct collective *c, float *x, const int64_t *begin)
{
    const struct mpi_library *lib = mpi_opened();

    for (int rank = 0; rank < c->world; rank++)
        for (int64_t pos = begin[rank]; pos < begin[rank + 1]; pos += MAX_COUNT) {
            mpi_begin();
            mpi_check(lib->Bcast(x + pos, part(begin[rank + 1] - pos), lib->type_float,
                                 rank, team_of(c)->comm),
                      "Bcast");
        }
}

/* One call per part: the blocks of a part may be anywhere, but a call has one per process. */
static void exchange(const struct collective *c, const struct exchange *e,
                     const void *src, void *dst, enum dtype type)
{
    const struct mpi_library *lib = mpi_opened();
    int *n = team_of(c)->place, *from = n + c->world, *to = from + c->world;

    for (int p = 0; p < e->parts; p++) {
        for (int r = 0; r < c->world; r++) {
            n[r] = (int)e->len;
            from[r] = (int)exchange_offset(e, c->world, r, p, false);
            to[r] = (int)exchange_offset(e, c->world, r, p, true);
        }
        mpi_begin();
        mpi_check(lib->Alltoallv(src, n, from, type_of(type), dst, n, to, type_of(type),
                                 team_of(c)->comm),
                  "Alltoallv");
    }
}

static void broadcast(const struct collective *c, void *x, int n)
{
    const struct mpi_library *lib = mpi_opened();

    mpi_begin();
    mpi_check(lib->Bcast(x, n, lib->type_byte, 0, team_of(c)->comm), "Bcast");
}

static void waits(const struct collective *c, bool waiting)
{
    (void)c;
    member_waits(0, waiting);
}

/* Creates the group of `size` neighbors, with its own communicator, so that the sums in
 * flight of different teams do not collide. */
static const struct collective *new_team(int size)
{
    const struct mpi_library *lib = mpi_opened();
    struct team *t = &teams[nteam];

    if (nteam == GROUPS)
        BUG("too many groups of processes");
    if (!add_fp16) {
        mpi_check(lib->Op_create(sum_fp16, 1, &add_fp16), "Op_create");
        mpi_check(lib->Op_create(sum_bf16, 1, &add_bf16), "Op_create");
    }
    mpi_begin();
    mpi_check(lib->Comm_split(lib->world, dist_rank() / size, dist_rank(), &t->comm),
              "Comm_split");
    t->place = xcalloc(3 * (size_t)size, sizeof(*t->place));
    t->c = (struct collective){.world = size,
                               .rank = dist_rank() % size,
                               .mean = mean,
                               .sum = sum,
                               .start = start,
                               .start_to = start_to,
                               .progress = progress,
                               .finish = finish,
                               .gather = gather,
                               .exchange = exchange,
                               .broadcast = broadcast,
                               .waits = waits,
                               .watch = member_watch};
    nteam++;
    return &t->c;
}

const struct collective *dist_collective(void)
{
    static const struct collective *all;

    if (member_now())
        return &member_now()->collective;
    if (!mpi_opened())
        return NULL;
    if (!all)
        all = new_team(dist_world());
    return all;
}

static void waits_for_all(const struct collective *c, bool waiting)
{
    c->parent->waits(c->parent, waiting);
}

/* Neighbors in a group of members: their devices' library creates this part of the group. */
static const struct collective *part_of_members(int n)
{
    static _Thread_local struct collective part;
    const struct collective *all = &member_now()->collective;

    if (n == all->world)
        return all;
    part = (struct collective){
        .world = n, .rank = all->rank % n, .waits = waits_for_all, .watch = all->watch,
        .parent = all};
    return &part;
}

const struct collective *dist_neighbors(int n)
{
    static const struct collective *neighbors;

    if (n == 1)
        return NULL;
    if (member_now())
        return part_of_members(n);
    if (!mpi_opened())
        return NULL;
    if (!neighbors)
        neighbors = new_team(n);
    return neighbors;
}
