#include "io/tensorboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

enum { PENDING_MAX = 64 << 10 /* bytes */, FLUSH_SECONDS = 120 };

/* Protocol buffers: a key is field << 3 | wire type. */
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Field numbers from event.proto, summary.proto, tensor.proto, and tensor_shape.proto. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
    SESSION_LOG_STATUS = 1,
    SESSION_LOG_START = 1, /* value of the status */
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_IMAGE = 4,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
    IMAGE_HEIGHT = 1,
    IMAGE_WIDTH = 2,
    IMAGE_COLORSPACE = 3,
    IMAGE_RGB = 3, /* value of the color space */
    IMAGE_ENCODED = 4,
    METADATA_PLUGIN_DATA = 1,
    PLUGIN_DATA_NAME = 1,
    PLUGIN_DATA_CONTENT = 2,
    TENSOR_DTYPE = 1,
    TENSOR_SHAPE = 2,
    TENSOR_STRING = 8,
    TENSOR_DTYPE_STRING = 7, /* value of the dtype */
    SHAPE_DIM = 2,
    DIM_SIZE = 1,
};

/* From plugin_data.proto and api.proto of plugins/hparams, and struct.proto. */
enum {
    HPARAMS_EXPERIMENT = 2,
    HPARAMS_START = 3,
    START_HPARAMS = 1,
    START_TIME = 5,
    EXPERIMENT_TIME = 3,
    EXPERIMENT_INFOS = 4,
    EXPERIMENT_METRICS = 5,
    INFO_NAME = 1,
    INFO_TYPE = 4,
    INFO_TEXT = 1, /* values of the type */
    INFO_BOOL = 2,
    INFO_NUMBER = 3,
    METRIC_NAME = 1,
    METRIC_TAG = 2,
    ENTRY_KEY = 1, /* map entry */
    ENTRY_VALUE = 2,
    ANY_NUMBER = 2,
    ANY_TEXT = 3,
    ANY_BOOL = 4,
};

static void put_varint(struct strbuf *s, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        strbuf_addch(s, (char)(v | 128));
    strbuf_addch(s, (char)v);
}

static void put_key(struct strbuf *s, int field, int wire)
{
    put_varint(s, (uint64_t)field << 3 | (uint64_t)wire);
}

static void put_int(struct strbuf *s, int field, int64_t v)
{
    put_key(s, field, WIRE_VARINT);
    put_varint(s, (uint64_t)v);
}

static void put_bytes(struct strbuf *s, int field, const void *data, size_t len)
{
    put_key(s, field, WIRE_BYTES);
    put_varint(s, len);
    strbuf_add(s, data, len);
}

static void put_string(struct strbuf *s, int field, const char *text)
{
    put_bytes(s, field, text, strlen(text));
}

/* Appends `inner` as a message and empties it. */
static void put_message(struct strbuf *s, int field, struct strbuf *inner)
{
    put_bytes(s, field, inner->buf, inner->len);
    strbuf_reset(inner);
}

static void give_up(struct tensorboard *t)
{
    log_warning("cannot write '%s': %s; the run continues without TensorBoard events",
                t->path, strerror(errno));
    (void)close(t->fd);
    t->fd = -1;
}

void tensorboard_flush(struct tensorboard *t)
{
    if (t->fd >= 0 && file_write(t->fd, t->pending.buf, t->pending.len))
        give_up(t);
    strbuf_reset(&t->pending);
    t->flushed = clock_now();
}

static void put_record(struct tensorboard *t, const struct strbuf *event)
{
    uint64_t len = event->len;
    uint32_t crc = crc32c_masked(&len, sizeof(len));

    if (t->fd < 0)
        return;
    strbuf_add(&t->pending, &len, sizeof(len));
    strbuf_add(&t->pending, &crc, sizeof(crc));
    strbuf_add(&t->pending, event->buf, event->len);
    crc = crc32c_masked(event->buf, event->len);
    strbuf_add(&t->pending, &crc, sizeof(crc));
    if (t->pending.len >= PENDING_MAX || clock_now() - t->flushed > FLUSH_SECONDS)
        tensorboard_flush(t);
}

/* Writes the fields that start each event. Step 0, protobuf's default, is omitted. */
static void begin_event(struct strbuf *event, int64_t step)
{
    struct timespec now;
    double seconds;

    clock_gettime(CLOCK_REALTIME, &now);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    put_key(event, EVENT_WALL_TIME, WIRE_64);
    strbuf_add(event, &seconds, sizeof(seconds));
    if (step)
        put_int(event, EVENT_STEP, step);
}

/* Writes an event with one value; `value` holds its fields after the tag. */
static void put_value(struct tensorboard *t, int64_t step, struct strbuf *value)
{
    struct strbuf event = STRBUF_INIT, summary = STRBUF_INIT;

    put_message(&summary, SUMMARY_VALUE, value);
    begin_event(&event, step);
    put_message(&event, EVENT_SUMMARY, &summary);
    put_record(t, &event);
    strbuf_release(&event);
    strbuf_release(&summary);
    strbuf_release(value);
}

void tensorboard_scalar(struct tensorboard *t, const char *tag, int64_t step,
                        double value)
{
    struct strbuf v = STRBUF_INIT;
    float f = (float)value;

    put_string(&v, VALUE_TAG, tag);
    put_key(&v, VALUE_SIMPLE, WIRE_32);
    strbuf_add(&v, &f, sizeof(f));
    put_value(t, step, &v);
}

void tensorboard_text(struct tensorboard *t, const char *tag, int64_t step,
                      const char *text)
{
    struct strbuf v = STRBUF_INIT, tensor = STRBUF_INIT, inner = STRBUF_INIT,
                  dim = STRBUF_INIT;

    put_int(&tensor, TENSOR_DTYPE, TENSOR_DTYPE_STRING);
    put_int(&dim, DIM_SIZE, 1);
    put_message(&inner, SHAPE_DIM, &dim);
    put_message(&tensor, TENSOR_SHAPE, &inner);
    put_string(&tensor, TENSOR_STRING, text);

    put_string(&v, VALUE_TAG, tag);
    put_message(&v, VALUE_TENSOR, &tensor);
    put_string(&dim, PLUGIN_DATA_NAME, "text");
    put_message(&inner, METADATA_PLUGIN_DATA, &dim);
    put_message(&v, VALUE_METADATA, &inner);
    put_value(t, step, &v);
    strbuf_release(&tensor);
    strbuf_release(&inner);
    strbuf_release(&dim);
}

void tensorboard_image(struct tensorboard *t, const char *tag, int64_t step, int w, int h,
                       const void *png, size_t len)
{
    struct strbuf v = STRBUF_INIT, image = STRBUF_INIT;

    put_int(&image, IMAGE_HEIGHT, h);
    put_int(&image, IMAGE_WIDTH, w);
    put_int(&image, IMAGE_COLORSPACE, IMAGE_RGB);
    put_bytes(&image, IMAGE_ENCODED, png, len);

    put_string(&v, VALUE_TAG, tag);
    put_message(&v, VALUE_IMAGE, &image);
    put_value(t, step, &v);
    strbuf_release(&image);
}

static void put_double(struct strbuf *s, int field, double v)
{
    put_key(s, field, WIRE_64);
    strbuf_add(s, &v, sizeof(v));
}

/* Adds a hyperparameter: its type goes to the experiment, its value to the run. */
static void put_hparam(struct tensorboard_hparams *h, const char *name, int type,
                       struct strbuf *value)
{
    struct strbuf info = STRBUF_INIT, entry = STRBUF_INIT;

    put_string(&info, INFO_NAME, name);
    put_int(&info, INFO_TYPE, type);
    put_message(&h->infos, EXPERIMENT_INFOS, &info);
    put_string(&entry, ENTRY_KEY, name);
    put_message(&entry, ENTRY_VALUE, value);
    put_message(&h->values, START_HPARAMS, &entry);
    strbuf_release(&info);
    strbuf_release(&entry);
    strbuf_release(value);
}

void tensorboard_hparam_number(struct tensorboard_hparams *h, const char *name, double v)
{
    struct strbuf s = STRBUF_INIT;

    put_double(&s, ANY_NUMBER, v);
    put_hparam(h, name, INFO_NUMBER, &s);
}

void tensorboard_hparam_bool(struct tensorboard_hparams *h, const char *name, bool v)
{
    struct strbuf s = STRBUF_INIT;

    put_int(&s, ANY_BOOL, v);
    put_hparam(h, name, INFO_BOOL, &s);
}

void tensorboard_hparam_text(struct tensorboard_hparams *h, const char *name,
                             const char *v)
{
    struct strbuf s = STRBUF_INIT;

    put_string(&s, ANY_TEXT, v);
    put_hparam(h, name, INFO_TEXT, &s);
}

/* Writes a value that only has metadata: `message` as field `field`. */
static void put_plugin_data(struct tensorboard *t, const char *tag, int field,
                            struct strbuf *message)
{
    struct strbuf v = STRBUF_INIT, data = STRBUF_INIT, plugin = STRBUF_INIT;

    put_message(&data, field, message);
    put_string(&plugin, PLUGIN_DATA_NAME, "hparams");
    put_message(&plugin, PLUGIN_DATA_CONTENT, &data);
    put_message(&data, METADATA_PLUGIN_DATA, &plugin);
    put_string(&v, VALUE_TAG, tag);
    put_message(&v, VALUE_METADATA, &data);
    put_value(t, 0, &v);
    strbuf_release(&data);
    strbuf_release(&plugin);
    strbuf_release(message);
}

void tensorboard_hparams(struct tensorboard *t, struct tensorboard_hparams *h)
{
    double now = (double)time(NULL);
    struct strbuf name = STRBUF_INIT, metric = STRBUF_INIT, all = STRBUF_INIT;

    put_double(&all, EXPERIMENT_TIME, now);
    strbuf_add(&all, h->infos.buf, h->infos.len);
    strbuf_release(&h->infos);
    for (int i = 0; i < TENSORBOARD_METRICS && h->metric[i]; i++) {
        put_string(&name, METRIC_TAG, h->metric[i]);
        put_message(&metric, METRIC_NAME, &name);
        put_message(&all, EXPERIMENT_METRICS, &metric);
    }
    put_double(&h->values, START_TIME, now);
    put_plugin_data(t, "_hparams_/experiment", HPARAMS_EXPERIMENT, &all);
    put_plugin_data(t, "_hparams_/session_start_info", HPARAMS_START, &h->values);
    strbuf_release(&name);
    strbuf_release(&metric);
}

/* Creates a file with a unique name, since two runs may start in the same second. Returns
 * -1 and sets errno on failure. */
static int create_file(struct tensorboard *t, const char *dir)
{
    char host[256] = "localhost";
    struct timespec now;

    (void)gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    for (int n = 0;; n++) {
        t->path = xasprintf("%s/events.out.tfevents.%010lld.%s.%d.%d", dir,
                            (long long)now.tv_sec, host, (int)getpid(), n);
        t->fd = open(t->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (t->fd >= 0)
            return 0;
        if (errno != EEXIST)
            return -1;
        free(t->path);
    }
}

void tensorboard_open(struct tensorboard *t, const char *dir, int64_t first_step)
{
    struct strbuf event = STRBUF_INIT, log = STRBUF_INIT;

    *t = (struct tensorboard){.flushed = clock_now(), .pending = STRBUF_INIT};
    if (create_file(t, dir))
        die("cannot create '%s': %s", t->path, strerror(errno));
    begin_event(&event, 0);
    put_string(&event, EVENT_FILE_VERSION, "brain.Event:2");
    put_record(t, &event);
    strbuf_reset(&event);
    begin_event(&event, first_step);
    put_int(&log, SESSION_LOG_STATUS, SESSION_LOG_START);
    put_message(&event, EVENT_SESSION_LOG, &log);
    put_record(t, &event);
    tensorboard_flush(t);
    strbuf_release(&event);
    strbuf_release(&log);
}

void tensorboard_close(struct tensorboard *t)
{
    if (t->fd >= 0)
        tensorboard_flush(t);
    if (t->fd >= 0)
        (void)close(t->fd);
    strbuf_release(&t->pending);
    free(t->path);
    *t = (struct tensorboard){.fd = -1, .pending = STRBUF_INIT};
}
