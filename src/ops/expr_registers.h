/*
 * An expr's program for a machine with few registers: each value gets one for as long as
 * it is read. The inputs start in the registers in[]; the outputs are in out[] at the end.
 * An instruction may write to the register of an operand that it is the last to read.
 */
#ifndef OPS_EXPR_REGISTERS_H
#define OPS_EXPR_REGISTERS_H

#include "ops/expr.h"

#ifdef __cplusplus
extern "C" {
#endif

struct expr_code {
    uint8_t opcode, dst, a, b, c;
    float m;
};

struct expr_program {
    int n, nin, nout, registers;
    uint8_t in[EXPR_INPUTS], out[EXPR_OUTPUTS];
    struct expr_code code[EXPR_INSTRUCTIONS];
};

void expr_assign_registers(const struct node *n, struct expr_program *p);

#ifdef __cplusplus
}
#endif

#endif
