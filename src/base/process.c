#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Reads "PID" for a group to watch and "-PID" for one to forget. At the end of its input,
 * when this process is gone, it kills the remaining groups. */
static const char guard_script[] =
    "l=' '; while read -r g; do case $g in -*) g=${g#-};"
    " case $l in *\" $g \"*) l=\"${l%% $g *} ${l#* $g }\";; esac;;"
    " *) l=\"$l$g \";; esac; done; for g in $l; do kill -s KILL -- \"-$g\"; done";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int guard = -1; /* the guard's input */

/* Shared with the child, which runs in the parent's memory. */
struct birth {
    pid_t parent;
    int guard;
    bool session; /* in a new session */
    volatile int error;
};

/* ---- in the child, on the parent's memory: only system calls ---- */

static void default_signals(void)
{
    struct sigaction now, as_usual = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int s = 1; s < NSIG; s++)
        if (s != SIGHUP || (!sigaction(s, NULL, &now) && now.sa_handler != SIG_IGN))
            (void)sigaction(s, &as_usual, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool set_descriptors(const struct process *p)
{
    int in = p->in ? p->in : p->input ? STDIN_FILENO : open("/dev/null", O_RDONLY);

    return in >= 0 && (in == STDIN_FILENO || dup2(in, STDIN_FILENO) >= 0) &&
           (!p->err || dup2(p->err, STDERR_FILENO) >= 0) &&
           (!p->out || dup2(p->out, STDOUT_FILENO) >= 0);
}

static void tell_guard(int fd, const char *sign)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "%s%d\n", sign, (int)getpid());

    (void)send(fd, line, (size_t)len, MSG_NOSIGNAL);
}

__attribute__((noinline)) static _Noreturn void become(const struct process *p,
                                                       struct birth *b)
{
    char *const *words = (char *const *)(uintptr_t)p->words;

    if (p->death)
        (void)prctl(PR_SET_PDEATHSIG, p->death);
    if (getppid() != b->parent) /* the parent ended before prctl() */
        _exit(127);
    if (b->session)
        (void)setsid();
    else if (p->group)
        (void)setpgid(0, 0);
    if (p->guarded)
        tell_guard(b->guard, "");
    if (p->nice)
        (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + p->nice);
    if (set_descriptors(p)) {
        closefrom(STDERR_FILENO + 1);
        default_signals();
        (void)(p->program ? execve(p->program, words, p->env ? p->env : environ)
                          : execvpe(words[0], words, p->env ? p->env : environ));
    }
    b->error = errno;
    _exit(127);
}

/* ---- in the parent ---- */

static pid_t give_birth(const struct process *p, struct birth *b)
{
    sigset_t all, before;
    pid_t pid;

    b->parent = getpid();
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = vfork();
    if (!pid)
        become(p, b);
    if (pid < 0)
        b->error = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && b->error)
        (void)waitpid(pid, NULL, 0);
    return b->error ? 0 : pid;
}

/* Returns the guard's input, or -1: without it, grandchildren may survive. */
static int open_guard(void)
{
    const char *words[] = {"sh", "-c", guard_script, NULL};
    struct process p = {.words = words, .program = "/bin/sh"};
    struct birth b = {.session = true};
    int ends[2], null;

    if (guard >= 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return guard;
    null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    p.out = p.err = null;
    p.in = ends[0];
    if (null >= 0 && give_birth(&p, &b))
        guard = ends[1];
    else
        (void)close(ends[1]);
    (void)close(ends[0]);
    if (null >= 0)
        (void)close(null);
    return guard;
}

pid_t process_start(const struct process *p, struct strbuf *why)
{
    struct birth b = {0};
    pid_t pid;

    (void)pthread_mutex_lock(&lock);
    b.guard = p->guarded ? open_guard() : -1;
    pid = give_birth(p, &b);
    (void)pthread_mutex_unlock(&lock);
    if (!pid)
        strbuf_addf(why, "cannot start '%s': %s", p->words[0], strerror(b.error));
    return pid;
}

void process_forget(pid_t pid)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "-%d\n", (int)pid);

    if (guard >= 0)
        (void)send(guard, line, (size_t)len, MSG_NOSIGNAL);
}

bool process_wait(pid_t pid, double seconds, int *status)
{
    double until = clock_now() + seconds;
    struct timespec nap = {.tv_nsec = 1000000};
    pid_t ended;

    while (!(ended = waitpid(pid, status, WNOHANG)) || (ended < 0 && errno == EINTR)) {
        if (clock_now() >= until)
            return false;
        (void)nanosleep(&nap, NULL);
        if (nap.tv_nsec < 16000000)
            nap.tv_nsec *= 2;
    }
    return true;
}

void process_end(pid_t pid, double patience)
{
    enum { LAST = 2 }; /* seconds to wait after SIGKILL */

    (void)kill(pid, SIGTERM);
    if (process_wait(pid, patience, NULL))
        return;
    (void)kill(pid, SIGKILL);
    (void)process_wait(pid, LAST, NULL);
}

void process_catch_signals(void (*handler)(int sig))
{
    static const int caught[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    struct sigaction a = {.sa_handler = handler}, now;

    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
        if (caught[i] != SIGHUP ||
            (!sigaction(SIGHUP, NULL, &now) && now.sa_handler != SIG_IGN))
            (void)sigaction(caught[i], &a, NULL);
}

bool process_owns(const char *variable)
{
    static const char *const start[] = {
        "TRAINC_", "OMPI_",       "PMIX_",         "PMI_",
        "PRTE_",   "SLURM_STEP",  "SLURM_PROCID=", "SLURM_LOCALID=",
        "RANK=",   "LOCAL_RANK=", "WORLD_SIZE=",   "LOCAL_WORLD_SIZE="};

    for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
        if (!strncmp(variable, start[i], strlen(start[i])))
            return true;
    return false;
}
