# The CPU backend with oneDNN 3.2 from scripts/onednn3.sh. Only files that include its headers are
# compiled again; the programs of tests/ are linked with them.
ONEDNN3      := build/onednn3
D3           := $B/onednn3
ONEDNN3_SRC  := $(wildcard src/cpu/onednn*.c)
ONEDNN3_OBJ  := $(ONEDNN3_SRC:%.c=$(D3)/%.o)
ONEDNN3_TEST := $(addprefix $(D3)/tests/,cpu/test_onednn cpu/test_pack ops/test_ops session/test_step)
ONEDNN3_LINK  = -L$(ONEDNN3)/lib -Wl,-rpath,$(abspath $(ONEDNN3)/lib)

$(D3)/src/cpu/%.o: src/cpu/%.c $B/command $(ONEDNN3)/include/dnnl.h
	@mkdir -p $(@D)
	$(CC) -isystem $(ONEDNN3)/include $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(D3)/libtrainc.so: $(ONEDNN3_OBJ) $(filter-out $(ONEDNN3_SRC:%.c=$B/%.o),$(LIB))
	$(CC) $(LDFLAGS) $(ONEDNN3_LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(LDLIBS)

$(D3)/tests/%: $B/tests/%.o $(HELP) $(D3)/libtrainc.so
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(ONEDNN3_LINK) -Wl,-rpath,'$$ORIGIN/../..' -o $@ $^ $(LDLIBS) -lcmocka

$(D3)/trainc: $B/src/main.o $(D3)/libtrainc.so
	$(CC) $(LDFLAGS) $(ONEDNN3_LINK) -Wl,-rpath,'$$ORIGIN' -o $@ $^ $(LDLIBS)

ifneq ($(wildcard $(ONEDNN3)/lib),)
test-onednn3: $(D3)/trainc $(ONEDNN3_TEST)
	@ldd $(D3)/trainc | grep -q 'libdnnl.so.3 => .*onednn3'
	@TRAINC=$(D3)/trainc scripts/tests.sh tests/onednn3/smoke.sh $(ONEDNN3_TEST)
else
test-onednn3:
	@echo "oneDNN 3.2: skipped, as scripts/onednn3.sh has not installed it"
endif

-include $(ONEDNN3_OBJ:.o=.d)
