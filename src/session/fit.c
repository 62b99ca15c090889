#include "session/fit.h"

#include "base/error.h"
#include "base/hostmem.h"
#include "base/log.h"

/* Batches above MULTIPLE images are multiples of it. A probe compiles with PROBE images;
 * a search takes about TRIES compilations. */
enum { MULTIPLE = 8, PROBE = 32, TRIES = 6 };
static const int64_t max_elements = INT32_MAX, max_images = 1048576;

size_t fit_need(const struct session *s)
{
    size_t sum = session_slot_bytes(s);

    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        sum += session_bytes(s, (enum memory)m);
    return sum;
}

/* Returns false if the device has no memory of its own; then all host memory counts as
 * free. */
static bool memory_of(const struct session *s, struct device_memory *m)
{
    if (s->backend->memory && s->backend->memory(s->device, m))
        return true;
    *m = (struct device_memory){.total = host_memory(), .free = host_memory()};
    return false;
}

/* Returns the bytes that may be allocated in total. */
static size_t room(const struct device_memory *m)
{
    return m->free > m->reserve ? m->free - m->reserve : 0;
}

/* The same run with another batch size: the bytes it needs, and the elements of its
 * largest tensor. */
struct trial {
    size_t need;
    int64_t largest;
};

static int64_t largest_tensor(const struct session *s)
{
    int64_t largest = 1;

    for (int i = 0; i < SESSION_PROGRAMS; i++)
        for (int k = 0; s->program[i] && k < s->build[i].graph->ntensor; k++) {
            const struct tensor *t = s->build[i].graph->tensor[k];

            if (t->memory == MEMORY_ARENA && tensor_len(t) > largest)
                largest = tensor_len(t);
        }
    return largest;
}

static struct trial try_batch(const struct session *like, bool train, bool eval,
                              int64_t batch, bool checkpoint)
{
    struct config cfg = *like->cfg;
    struct session s = {.cfg = &cfg, .backend = like->backend, .device = like->device};
    bool hurries = s.backend->hurry && s.backend->hurry(s.device, true);
    struct trial t;

    cfg.data.batch_size = batch;
    cfg.train.use_checkpoint |= checkpoint;
    session_compile(&s, &(struct session_options){
                            .train = train, .eval = eval, .phases = like->phases});
    t = (struct trial){fit_need(&s), largest_tensor(&s)};
    session_drop(&s);
    if (hurries)
        (void)s.backend->hurry(s.device, false);
    return t;
}

static int64_t rounded(int64_t batch)
{
    return batch > MULTIPLE ? batch - batch % MULTIPLE : batch;
}

static int64_t next_above(int64_t batch)
{
    return batch < MULTIPLE ? batch + 1 : rounded(batch + MULTIPLE);
}

/* A batch that fits and a larger one that may not, in images, and their bytes. */
struct bracket {
    int64_t low, high;
    size_t low_need, high_need;
};

/* Returns the batch at which a line through both meets `limit`: memory grows almost
 * linearly with the batch. */
static int64_t on_line(const struct bracket *b, size_t limit)
{
    double slope =
        ((double)b->high_need - (double)b->low_need) / (double)(b->high - b->low);
    double pos = (double)b->low + ((double)limit - (double)b->low_need) / slope;

    if (!(slope > 0) || pos > (double)max_images)
        return max_images;
    return pos > 1 ? (int64_t)pos : 1;
}

/* A search: whether these programs of this session fit into `limit` bytes. */
struct question {
    const struct session *s;
    bool train, eval, checkpoint;
    size_t limit;
};

static struct trial try_size(const struct question *q, int64_t batch)
{
    return try_batch(q->s, q->train, q->eval, batch, q->checkpoint);
}

/* Returns the largest batch that fits, between b.low (fits) and b.high (does not). */
static int64_t narrow(const struct question *q, struct bracket b)
{
    for (int i = 0; i < TRIES && next_above(b.low) < b.high; i++) {
        int64_t pos = rounded(on_line(&b, q->limit));
        size_t need;

        pos = pos < b.high ? pos : rounded(b.high - 1);
        pos = pos > b.low ? pos : next_above(b.low);
        need = try_size(q, pos).need;
        if (need <= q->limit) {
            b.low = pos;
            b.low_need = need;
        } else {
            b.high = pos;
            b.high_need = need;
        }
    }
    return b.low;
}

/* Returns the largest batch that fits below `batch`, which needs `need` bytes and does
 * not fit; 0 if not even one image fits. */
static int64_t largest_below(const struct question *q, int64_t batch, size_t need)
{
    struct bracket b = {.high = batch, .high_need = need};

    while (b.high > 1) {
        b.low = b.high > PROBE ? PROBE : 1;
        b.low_need = try_size(q, b.low).need;
        if (b.low_need <= q->limit)
            return narrow(q, b);
        b.high = b.low;
        b.high_need = b.low_need;
    }
    return 0;
}

/* Returns the largest batch that fits, from `batch` (which fits, with `need` bytes) to
 * `max`. */
static int64_t largest_above(const struct question *q, int64_t batch, size_t need,
                             int64_t max)
{
    struct bracket b = {batch, 2 * batch, need, try_size(q, 2 * batch).need};

    for (int i = 0; i < TRIES && b.low < max; i++) {
        int64_t pos = rounded(on_line(&b, q->limit));

        pos = pos > next_above(b.low) ? pos : next_above(b.low);
        pos = pos < max ? pos : max;
        need = try_size(q, pos).need;
        if (need > q->limit) {
            b.high = pos;
            b.high_need = need;
            return narrow(q, b);
        }
        b.low = pos;
        b.low_need = need;
        b.high = next_above(pos);
        b.high_need = try_size(q, b.high).need;
        if (b.high_need > q->limit)
            return b.low;
    }
    return b.low;
}

/* Appends "weights 98 MiB, arena 4.2 GiB": every kind of at least 1 MiB. */
static void add_kinds(struct strbuf *why, const struct session *s)
{
    const char *comma = "";

    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++) {
        size_t need = session_bytes(s, (enum memory)m);

        if (need < (size_t)1 << 20)
            continue;
        strbuf_addf(why, "%s%s ", comma, memory_name((enum memory)m));
        strbuf_add_bytes(why, (double)need);
        comma = ", ";
    }
}

/* Returns the largest batch that the data set (0: unknown size) and the 32-bit indices of
 * libraries allow. `probe` has PROBE images. */
static int64_t max_batch(const struct trial *probe, int64_t images)
{
    int64_t max = max_elements / ((probe->largest + PROBE - 1) / PROBE);

    max = max < max_images ? max : max_images;
    return images && images < max ? images : max;
}

/* Appends what would fit: a smaller batch, or activation checkpointing. */
static void add_cures(struct strbuf *why, const struct session *s, size_t need,
                      size_t limit, size_t reserve)
{
    bool train = s->program[SESSION_TRAIN], eval = s->program[SESSION_EVAL];
    struct question q = {s, train, eval, false, limit};
    int64_t batch = train ? s->plan.batch : s->plan.val_batch;
    int64_t fits = largest_below(&q, batch, need);
    struct trial probe = try_size(&q, fits < PROBE ? 1 : PROBE);
    int64_t max = rounded(max_batch(&probe, 0));

    if (fits > max) /* libraries have no fast kernels beyond */
        strbuf_addf(why,
                    "; the largest DATA.BATCH_SIZE that fits is %lld; beyond %lld there "
                    "are tensors of 2^31 elements, for which cuDNN has no fast engines",
                    (long long)fits, (long long)max);
    else if (fits)
        strbuf_addf(why, "; the largest DATA.BATCH_SIZE that fits is %lld",
                    (long long)fits);
    else
        strbuf_addstr(why, "; not even one image fits");
    if (train && !s->cfg->train.use_checkpoint) {
        size_t checkpointed = try_batch(s, train, eval, batch, true).need;
        double all = (double)(need + reserve), less = (double)(checkpointed + reserve);

        strbuf_addstr(why, "; TRAIN.USE_CHECKPOINT True would need ");
        strbuf_add_bytes(why, less);
        strbuf_addf(why, ", %.0f %% less%s", less < all ? 100 - 100 * less / all : 0,
                    checkpointed <= limit ? ", and fit" : "");
    }
}

bool fit_check(const struct session *s, struct strbuf *why)
{
    struct strbuf kinds = STRBUF_INIT;
    struct device_memory m;
    bool known = memory_of(s, &m);
    size_t need = fit_need(s), limit = room(&m);

    if (need <= limit)
        return true;
    strbuf_addf(why, "%s: out of memory: this run needs ",
                s->backend->describe(s->device));
    strbuf_add_bytes(why, (double)(need + m.reserve));
    add_kinds(&kinds, s);
    if (known) {
        strbuf_addstr(&kinds, kinds.len ? ", libraries " : "libraries ");
        strbuf_add_bytes(&kinds, (double)m.reserve);
    }
    if (kinds.len)
        strbuf_addf(why, " (%s)", kinds.buf);
    strbuf_addstr(why, " and ");
    strbuf_add_bytes(why, (double)m.free);
    strbuf_release(&kinds);
    strbuf_addstr(why, known ? " are free" : " are all that the machine has");
    add_cures(why, s, need, limit, m.reserve);
    return false;
}

/* Reserves workspace for the engines that timing will choose: trials are compiled with
 * the engines of the heuristic. */
static void leave_room(struct question *q)
{
    const struct session *s = q->s;
    size_t workspace = (size_t)s->cfg->cudnn.workspace_limit;

    if (!s->backend->hurry || !s->backend->hurry(s->device, true))
        return;
    (void)s->backend->hurry(s->device, false);
    q->limit -= q->limit < workspace ? q->limit : workspace;
}

int64_t fit_batch(const struct session *s, const struct session_options *o)
{
    struct question q = {s, o->train, o->eval, false, 0};
    struct device_memory m;
    struct trial probe;
    int64_t max, pos;

    if (!memory_of(s, &m))
        usage("DATA.BATCH_SIZE auto: the device '%s' does not say how much memory a run "
              "may take: give a number",
              s->backend->name);
    q.limit = room(&m);
    leave_room(&q);
    probe = try_size(&q, PROBE);
    max = rounded(max_batch(&probe, o->images));
    pos = max < PROBE ? max : PROBE;
    if (probe.need > q.limit)
        pos = largest_below(&q, PROBE, probe.need);
    else if (max > PROBE)
        pos = largest_above(&q, PROBE, probe.need, max);
    pos = pos < max ? pos : max;
    if (!pos)
        die("%s: out of memory: DATA.BATCH_SIZE auto: not even one image fits",
            s->backend->describe(s->device));
    log_info("DATA.BATCH_SIZE auto: %lld images%s", (long long)pos,
             pos < max ? ""
             : rounded(max_batch(&probe, 0)) > max
                 ? ", all that there are"
                 : ", as tensors have less than 2^31 elements");
    return pos;
}

static void add_bytes(struct strbuf *text, const char *before, size_t bytes)
{
    strbuf_addstr(text, before);
    strbuf_add_bytes(text, (double)bytes);
}

bool fit_device_memory(const struct session *s, struct device_memory *m)
{
    if (!s->backend->memory || !s->backend->memory(s->device, m))
        return false;
    if (s->settled) {
        m->library = s->library;
        m->shared = false;
    }
    return true;
}

void fit_settle(struct session *s)
{
    struct device_memory m;

    for (int i = 0; i < SESSION_PROGRAMS; i++)
        if (s->program[i] && s->program[i]->runs < 2)
            return;
    if (s->settled || !fit_device_memory(s, &m) || m.shared)
        return;
    s->library = m.library;
    s->settled = true;
}

void fit_memory(const struct session *s, struct strbuf *text)
{
    struct strbuf kinds = STRBUF_INIT;
    struct device_memory m;
    size_t ours;

    if (!fit_device_memory(s, &m))
        return;
    ours = m.free + m.held + m.library;
    add_kinds(&kinds, s);
    add_bytes(text, "", m.held);
    if (kinds.len)
        strbuf_addf(text, " (%s)", kinds.buf);
    if (!m.shared)
        add_bytes(text, ", libraries ", m.library);
    add_bytes(text,
              m.shared ? ", libraries, driver and other programs "
                       : ", driver and other programs ",
              m.total > ours ? m.total - ours : 0);
    add_bytes(text, "; free ", m.free);
    add_bytes(text, " of ", m.total);
    add_bytes(text, ", peak ", m.peak + m.library);
    if (m.shared)
        strbuf_addstr(text, " without libraries");
    strbuf_release(&kinds);
}

void fit_report(const struct session *s, const char *when)
{
    struct strbuf text = STRBUF_INIT;

    fit_memory(s, &text);
    if (text.len)
        log_info("memory %s: %s", when, text.buf);
    strbuf_release(&text);
}
