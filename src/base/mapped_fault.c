#include "base/mapped_fault.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* Parses /proc/self/maps: "from-to rwxp offset major:minor inode   /path". Everything
 * here is async-signal-safe. */
struct maps {
    int fd;
    size_t pos, len;
    char text[4096];
};

/* Returns the next character, or -1 at the end. */
static int maps_next(struct maps *m)
{
    if (m->pos == m->len) {
        ssize_t got = read(m->fd, m->text, sizeof(m->text));

        if (got <= 0)
            return -1;
        m->pos = 0;
        m->len = (size_t)got;
    }
    return (unsigned char)m->text[m->pos++];
}

/* Reads a hexadecimal number and the character after it. */
static uint64_t maps_number(struct maps *m, int *after)
{
    uint64_t v = 0;

    while ((*after = maps_next(m)) >= 0) {
        int c = *after, digit = c >= '0' && c <= '9'   ? c - '0'
                                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                       : -1;

        if (digit < 0)
            break;
        v = v << 4 | (uint64_t)digit;
    }
    return v;
}

/* Reads the rest of the line, from its first '/' on. */
static void maps_path(struct maps *m, char *path, size_t size)
{
    bool found = false;
    size_t n = 0;
    int c;

    while ((c = maps_next(m)) >= 0 && c != '\n') {
        found |= c == '/';
        if (found && n + 1 < size)
            path[n++] = (char)c;
    }
    path[n] = '\0';
}

/* Gets the file mapped at an address, or "" if there is none. */
static void path_at(uint64_t address, char *path, size_t size)
{
    struct maps m = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    int c = 0;

    path[0] = '\0';
    while (m.fd >= 0 && c >= 0) {
        uint64_t start = maps_number(&m, &c), end = maps_number(&m, &c);

        maps_path(&m, path, size);
        if (address >= start && address < end)
            break;
        path[0] = '\0';
    }
    if (m.fd >= 0)
        (void)close(m.fd);
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    char path[4096];

    (void)context;
    path_at((uint64_t)(uintptr_t)info->si_addr, path, sizeof(path));
    if (info->si_code != BUS_ADRERR || !path[0]) {
        (void)signal(sig, SIG_DFL);
        if (info->si_code <= 0) /* sent by kill(); otherwise the access is repeated */
            (void)raise(sig);
        return;
    }
    say("trainc: error: cannot read '");
    say(path);
    say("', which is mapped into memory: its disk failed or is full, or it was made "
        "shorter meanwhile\n");
    _exit(EXIT_FAILED);
}

void mapped_fault_install(void)
{
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    (void)sigaction(SIGBUS, &a, NULL);
}
