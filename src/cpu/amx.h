/*
 * Intel AMX: eight tile registers of 16 rows of 64 bytes, and a multiply of tiles of bf16
 * that adds to a tile of fp32 (Intel 64 and IA-32 Architectures Software Developer's
 * Manual, volume 1, chapter 18): some 16 times what AVX-512's multipliers do in fp32.
 */
#ifndef CPU_AMX_H
#define CPU_AMX_H

#include <stdbool.h>

/*
 * True if this processor has tiles with bf16 and the system lets this process use them.
 * Asks Linux once, for all threads.
 */
bool amx_usable(void);

#endif
