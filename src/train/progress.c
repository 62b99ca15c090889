#include "train/progress.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "config/choices.h"
#include "dist/group.h"

static bool active;
static atomic_bool drawn; /* any thread that logs a line may wipe the bar */
static double drawn_at;

void progress_init(int mode)
{
    if (dist_thread()) /* only the first thread draws */
        return;
    active = mode == PROGRESS_ON || (mode == PROGRESS_AUTO && isatty(STDERR_FILENO));
    drawn = false;
    drawn_at = 0;
    log_before_line(active ? progress_wipe : NULL);
}

bool progress_active(void)
{
    return active && !dist_thread();
}

bool progress_is_enough(void)
{
    return active && isatty(STDOUT_FILENO);
}

/* Appends a duration such as "01:23" or "1:02:03". */
static void add_clock(struct strbuf *s, double seconds)
{
    long long t = seconds > 0 ? (long long)(seconds + 0.5) : 0;

    if (t >= 3600)
        strbuf_addf(s, "%lld:%02lld:%02lld", t / 3600, t / 60 % 60, t % 60);
    else
        strbuf_addf(s, "%02lld:%02lld", t / 60, t % 60);
}

static void add_bar(struct strbuf *s, double share, int room)
{
    int width = room > 30 ? 30 : room;
    int full = (int)(share * width);

    strbuf_addch(s, '|');
    for (int i = 0; i < width; i++)
        strbuf_addch(s, i < full ? '#' : ' ');
    strbuf_addch(s, '|');
}

/* What is dropped on a narrow terminal; the loss, which starts the postfix, is dropped
 * last. */
enum { NO_BAR = 1, NO_SPEED, NO_CLOCK };

static void add_done(struct strbuf *s, const struct progress *p)
{
    if (!p->bytes) {
        strbuf_addf(s, " %lld/%lld [", (long long)p->done, (long long)p->total);
        return;
    }
    strbuf_addch(s, ' ');
    strbuf_add_bytes(s, (double)p->done);
    strbuf_addch(s, '/');
    strbuf_add_bytes(s, (double)p->total);
    strbuf_addstr(s, " [");
}

static void add_rate(struct strbuf *s, const struct progress *p)
{
    if (!p->bytes) {
        strbuf_addf(s, "%.0f img/s", p->images_per_second);
        return;
    }
    strbuf_add_bytes(s, p->seconds > 0 ? (double)(p->done - p->initial) / p->seconds : 0);
    strbuf_addstr(s, "/s");
}

static void add_tail(struct strbuf *s, const struct progress *p, int level, int postfix)
{
    add_done(s, p);
    if (level < NO_CLOCK) {
        add_clock(s, p->seconds);
        strbuf_addch(s, '<');
        if (p->done > p->initial)
            add_clock(s, p->seconds / (double)(p->done - p->initial) *
                             (double)(p->total - p->done));
        else
            strbuf_addch(s, '?');
        strbuf_addstr(s, level < NO_SPEED || postfix ? ", " : "");
    }
    if (level < NO_SPEED) {
        add_rate(s, p);
        strbuf_addstr(s, postfix ? ", " : "");
    }
    strbuf_addf(s, "%.*s]", postfix, p->postfix);
}

/* Returns the length of the postfix without its last part; a single part stays. */
static int shorter(const char *postfix, int len)
{
    int n = len - 1;

    while (n > 0 && postfix[n] != ',')
        n--;
    return n > 0 ? n : len;
}

void progress_text(struct strbuf *s, const struct progress *p, int width)
{
    enum { BAR = 6 }; /* width of the shortest bar, with its ends */
    double share = p->total > 0 ? (double)p->done / (double)p->total : 0;
    int level = 0, room, postfix = (int)strlen(p->postfix), cut;
    struct strbuf tail = STRBUF_INIT;

    strbuf_addf(s, "%s: %3.0f%%", p->title, 100 * share);
    for (;;) {
        strbuf_reset(&tail);
        add_tail(&tail, p, level, postfix);
        room = width - 1 - (int)(s->len + tail.len) - (level < NO_BAR ? BAR : 0);
        if (room >= 0 || level == NO_CLOCK)
            break;
        cut = level < NO_SPEED ? postfix : shorter(p->postfix, postfix);
        level += cut == postfix; /* shorten the postfix before dropping the clock */
        postfix = cut;
    }
    if (level < NO_BAR)
        add_bar(s, share, room + BAR - 2);
    strbuf_addstr(s, tail.buf);
    if ((int)s->len > width - 1 && width > 1)
        s->buf[s->len = (size_t)width - 1] = '\0';
    strbuf_release(&tail);
}

static int columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || !w.ws_col ? 100 : w.ws_col;
}

static void (*watcher)(void);

void progress_watch(void (*fn)(void))
{
    watcher = fn;
}

void progress_show(const struct progress *p)
{
    struct strbuf s = STRBUF_INIT;
    double now = clock_now();

    if (watcher)
        watcher();
    if (!progress_active() || (now - drawn_at < 0.1 && p->done < p->total))
        return;
    progress_text(&s, p, columns());
    fprintf(stderr, "\r%s\033[K", s.buf);
    fflush(stderr);
    drawn = true;
    drawn_at = now;
    strbuf_release(&s);
}

void progress_wipe(void)
{
    if (atomic_exchange(&drawn, false))
        fputs("\r\033[K", stderr); /* unbuffered, so it precedes the log's line */
}
