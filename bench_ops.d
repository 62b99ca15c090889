bench_ops.o: src/cmd/bench_ops.c src/base/banned.h src/cmd/bench_ops.h \
  src/graph/backend.h src/graph/kernel.h src/graph/graph.h \
  src/base/arena.h src/graph/op.h src/graph/tensor.h src/base/alloc.h \
  src/base/error.h src/base/file.h src/cmd/bench_copy.h \
  src/cmd/bench_program.h src/graph/program.h src/cpu/backend.h \
  src/cpu/bandwidth.h src/io/json.h src/base/strbuf.h src/ops/case_run.h \
  src/ops/cases.h src/ops/accumulation_formula.h src/base/hostdev.h \
  src/ops/op_bench.h

src/base/banned.h:

src/cmd/bench_ops.h:

src/graph/backend.h:

src/graph/kernel.h:

src/graph/graph.h:

src/base/arena.h:

src/graph/op.h:

src/graph/tensor.h:

src/base/alloc.h:

src/base/error.h:

src/base/file.h:

src/cmd/bench_copy.h:

src/cmd/bench_program.h:

src/graph/program.h:

src/cpu/backend.h:

src/cpu/bandwidth.h:

src/io/json.h:

src/base/strbuf.h:

src/ops/case_run.h:

src/ops/cases.h:

src/ops/accumulation_formula.h:

src/base/hostdev.h:

src/ops/op_bench.h:
