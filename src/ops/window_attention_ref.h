/* The reference of ops/window_attention.h. */
#ifndef OPS_WINDOW_ATTENTION_REF_H
#define OPS_WINDOW_ATTENTION_REF_H

#include <stddef.h>

struct node;
struct step;

void window_attention_ref(const struct step *s);
void window_attention_grad_ref(const struct step *s);
size_t window_attention_scratch(const struct node *n); /* of both */

#endif
