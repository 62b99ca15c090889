#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Those under way, for a signal handler; 0: free. */
static volatile pid_t running[COMMANDS_MOST];

/* COMMANDS_MOST: there is none. */
static int place_of(pid_t pid)
{
    int i = 0;

    while (i < COMMANDS_MOST && running[i] != pid)
        i++;
    return i;
}

void command_kill_all(void)
{
    for (int i = 0; i < COMMANDS_MOST; i++)
        if (running[i])
            (void)kill(-running[i], SIGKILL);
}

/* posix_spawn, as a process with a GPU or MPI must not be copied. */
bool command_start(struct command *c, const char *const *words, char *const *env,
                   struct strbuf *why)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int place = place_of(0), rc;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    *c = (struct command){.began = clock_now()};
    rc = place < COMMANDS_MOST ? posix_spawnp(&c->pid, words[0], &files, &attr,
                                              (char *const *)(uintptr_t)words, env)
                               : EAGAIN;
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (!rc) {
        running[place] = c->pid;
        return true;
    }
    c->pid = 0;
    strbuf_addf(why, "cannot start '%s': %s", words[0], strerror(rc));
    return false;
}

/* Its group goes while its number is still its own. */
static void reap(struct command *c)
{
    int place = place_of(c->pid);

    (void)kill(-c->pid, SIGKILL);
    if (place < COMMANDS_MOST)
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
