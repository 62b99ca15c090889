#include "base/command.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

/* Running commands, for a signal handler; 0: free. */
static volatile pid_t running[COMMANDS_MAX];

/* Returns COMMANDS_MAX if there is none. */
static int place_of(pid_t pid)
{
    int i = 0;

    while (i < COMMANDS_MAX && running[i] != pid)
        i++;
    return i;
}

void command_kill_all(void)
{
    for (int i = 0; i < COMMANDS_MAX; i++)
        if (running[i])
            (void)kill(-running[i], SIGKILL);
}

bool command_start(struct command *c, const char *const *words, char *const *env,
                   struct strbuf *why)
{
    struct process p = {.words = words,
                        .env = env,
                        .out = STDERR_FILENO,
                        .death = SIGKILL,
                        .group = true,
                        .guarded = true};
    int place = place_of(0);

    *c = (struct command){.began = clock_now()};
    if (place == COMMANDS_MAX)
        strbuf_addf(why, "cannot start '%s': %d others are under way", words[0], place);
    else
        c->pid = running[place] = process_start(&p, why);
    return c->pid > 0;
}

/* Kills its group before its number can be reused. */
static void reap(struct command *c)
{
    int place = place_of(c->pid);

    (void)kill(-c->pid, SIGKILL);
    process_forget(c->pid); /* not earlier: this process may be killed in between */
    if (place < COMMANDS_MAX)
        running[place] = 0;
    while (waitpid(c->pid, &c->status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
}

static bool is_over(const struct command *c)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
           info.si_pid == c->pid;
}

bool command_ended(struct command *c, double seconds)
{
    double until = clock_now() + seconds;
    struct timespec nap = {.tv_nsec = 1000000};

    while (c->pid && !is_over(c)) {
        if (clock_now() >= until || nanosleep(&nap, NULL))
            return false;
        if (nap.tv_nsec < 16000000)
            nap.tv_nsec *= 2;
    }
    if (c->pid)
        reap(c);
    return true;
}

void command_stop(struct command *c)
{
    if (c->pid)
        reap(c);
}

void command_add_status(struct strbuf *s, const struct command *c)
{
    if (WIFSIGNALED(c->status))
        strbuf_addf(s, "was killed by SIG%s", sigabbrev_np(WTERMSIG(c->status)));
    else if (WEXITSTATUS(c->status))
        strbuf_addf(s, "ended with %d", WEXITSTATUS(c->status));
}
