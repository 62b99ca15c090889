/*
 * AMX's tile instructions in plain C (cpu/tiles.h), following Intel's manual
 * (Architecture Instruction Set Extensions Programming Reference, chapter 3). Conditions
 * that raise #GP or #UD end the test here.
 */
#define TILES_MODEL
#include "cpu/tiles.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "cpu/amx.h"

enum { TILES = 8 };

/* The loops around the tiles need AVX-512. */
bool amx_usable(void)
{
    return __builtin_cpu_supports("avx512bf16");
}

static _Thread_local struct {
    bool active;
    struct tile_shapes shape;
    uint8_t tile[TILES][TILE_ROWS][TILE_LINE];
} model;

/* Returns its number of rows; sets *bytes to their length. */
static int rows_of(int t, int *bytes)
{
    if (!model.active || t < 0 || t >= TILES)
        BUG("tile %d is used without a configuration", t);
    *bytes = model.shape.row_bytes[t];
    return model.shape.rows[t];
}

void tile_config(const struct tile_shapes *s)
{
    if (s->palette != 1 || s->start_row)
        BUG("no configuration of tiles");
    for (int t = 0; t < 16; t++)
        if (t < TILES ? !s->rows[t] || s->rows[t] > TILE_ROWS || !s->row_bytes[t] ||
                            s->row_bytes[t] > TILE_LINE || s->row_bytes[t] % 4
                      : s->rows[t] || s->row_bytes[t])
            BUG("tile %d has %d rows of %d bytes", t, s->rows[t], s->row_bytes[t]);
    memset(&model, 0, sizeof(model));
    model.shape = *s;
    model.active = true;
}

void tile_release(void)
{
    memset(&model, 0, sizeof(model));
}

void tile_zero(int t)
{
    int bytes;

    (void)rows_of(t, &bytes);
    memset(model.tile[t], 0, sizeof(model.tile[t]));
}

void tile_load(int t, const void *src, int64_t stride)
{
    int bytes, rows = rows_of(t, &bytes);

    tile_zero(t);
    for (int i = 0; i < rows; i++)
        memcpy(model.tile[t][i], (const char *)src + i * stride, (size_t)bytes);
}

void tile_store(int t, void *dst, int64_t stride)
{
    int bytes, rows = rows_of(t, &bytes);

    for (int i = 0; i < rows; i++)
        memcpy((char *)dst + i * stride, model.tile[t][i], (size_t)bytes);
}

/* Flushes subnormals to zero; tests ignore the sign of the zero. */
static float flushed(float v)
{
    return fabsf(v) < 0x1p-126f ? 0 : v;
}

#define FAST __attribute__((target("avx512f,avx512bw,avx512vl")))

/* Converts a row of bf16 to floats. */
FAST static void widen(const uint8_t *row, int n, float *dst)
{
    for (int i = 0; i < n; i++) {
        uint16_t h;

        memcpy(&h, row + 2 * i, sizeof(h));
        dst[i] = bf16_to_float(h);
    }
    for (int i = 0; i < n; i++)
        dst[i] = flushed(dst[i]);
}

/*
 * For each element, sums the products of the pairs' first values and of their second
 * values separately; then adds both. The product of two bf16 is exact in fp32, so a sum
 * rounds once, like a fused multiply-add.
 */
FAST static void multiply_row(const float left[TILE_DEPTH], float (*right)[2][TILE_ROWS],
                              int pairs, float *dst)
{
    float part[2][TILE_ROWS] = {{0}};

    for (int k = 0; k < pairs; k++)
        for (int n = 0; n < TILE_ROWS; n++) {
            part[0][n] += left[2 * k] * right[k][0][n];
            part[1][n] += left[2 * k + 1] * right[k][1][n];
        }
    for (int n = 0; n < TILE_ROWS; n++)
        dst[n] = flushed(flushed(dst[n]) + flushed(part[0][n] + part[1][n]));
}

FAST void tile_multiply(int sum, int left, int right)
{
    int bytes[3], rows = rows_of(sum, &bytes[0]), pairs = rows_of(right, &bytes[2]);
    float wide[TILE_ROWS][2][TILE_ROWS], x[TILE_DEPTH], dst[TILE_ROWS];

    if (rows_of(left, &bytes[1]) != rows || bytes[1] / 4 != pairs ||
        bytes[2] != bytes[0] || sum == left || sum == right || left == right)
        BUG("tiles %d, %d and %d do not fit", sum, left, right);
    for (int k = 0; k < pairs; k++) {
        widen(model.tile[right][k], TILE_DEPTH, x);
        for (int n = 0; n < TILE_DEPTH; n++)
            wide[k][n % 2][n / 2] = x[n];
    }
    for (int row = 0; row < rows; row++) {
        widen(model.tile[left][row], 2 * pairs, x);
        memcpy(dst, model.tile[sum][row], sizeof(dst));
        multiply_row(x, wide, pairs, dst);
        memcpy(model.tile[sum][row], dst, sizeof(dst));
    }
}
