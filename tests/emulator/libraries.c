/*
 * Runs before main: unless environment variables name cuDNN, cuBLASLt, NCCL, and nvJPEG,
 * selects the emulated ones built with this program; the real ones would look for a GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulator/internal.h"

/* Finds the folder of the libraries relative to the program's; "" if there is none. */
static void find_folder(char *dst, size_t size)
{
    char dir[1024];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);

    dst[0] = 0;
    for (dir[n < 0 ? 0 : n] = 0; strrchr(dir, '/');) {
        *strrchr(dir, '/') = 0;
        for (int i = 0; i < 2; i++) {
            (void)snprintf(dst, size, "%s%s/libcudnn.so.9", dir, i ? "/emulated" : "");
            if (!access(dst, R_OK)) {
                *strrchr(dst, '/') = 0;
                return;
            }
        }
    }
    dst[0] = 0;
}

void libraries_choose(void)
{
    static const char *const name[][2] = {{"TRAINC_CUDNN", "libcudnn.so.9"},
                                          {"TRAINC_CUBLASLT", "libcublasLt.so.13"},
                                          {"TRAINC_NCCL", "libnccl.so.2"},
                                          {"TRAINC_NVJPEG", "libnvjpeg.so.13"}};
    char folder[1100], path[1200];

    find_folder(folder, sizeof(folder));
    for (int i = 0; folder[0] && i < (int)(sizeof(name) / sizeof(name[0])); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, name[i][1]);
        (void)setenv(name[i][0], path, 0);
    }
}
