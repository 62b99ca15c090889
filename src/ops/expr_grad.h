/* The gradient of an expr: its program reversed. */
#ifndef OPS_EXPR_GRAD_H
#define OPS_EXPR_GRAD_H

struct builder;
struct node;

void expr_grad(struct builder *b, const struct node *n);

#endif
