#include "last_words.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

static void leave(const char *message, int code, void *arg)
{
    (void)message, (void)arg;
    _exit(code);
}

void last_words_leave(void)
{
    error_at_exit(leave, NULL);
}

char *last_words(void (*fn)(const void *), const void *arg, int *code)
{
    char *path = xstrdup("/tmp/trainc-test-XXXXXX"), *text;
    int fd = mkstemp(path), status;
    size_t len;
    pid_t pid = fork();

    if (pid == 0) {
        dup2(fd, 2);
        last_words_leave();
        fn(arg);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    close(fd);
    *code = WEXITSTATUS(status);
    text = file_read(path, &len);
    unlink(path);
    free(path);
    return text;
}

void check_dies(void (*fn)(const void *), const void *arg, const char *why)
{
    int code;
    char *text = last_words(fn, arg, &code);

    if (code != 1 || !strstr(text, why))
        fail_msg("exit %d, '%s' does not say '%s'", code, text, why);
    free(text);
}
