# Runs programs of tests/cpu/ again with AMX tiles in plain C (src/cpu/tiles.h), to test the
# tile code on processors that have AVX-512 BF16 but no tiles.
TILES      := $(wildcard src/cpu/conv/amx*.c) src/cpu/simd/attention_amx.c
TILES_OBJ  := $(TILES:%.c=$B/tiles/%.o) $B/tests/tiles/model.o
TILES_TEST := $B/tests/tiles/conv $B/tests/tiles/attention
TEST       += $(TILES_TEST)
$B/tiles/tests/%.o: override CPPFLAGS += -I.
$B/tests/tiles/model.o: override CFLAGS += -O3
ifneq ($(SANITIZE),)
$B/tiles/src/cpu/simd/%.o: override CFLAGS += -O1
endif

$B/tiles/%.o: %.c $B/command
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DTILES_MODEL $(CFLAGS) -c -o $@ $<

$(TILES_TEST): $B/tests/tiles/%: $B/tiles/tests/cpu/test_%.o $(HELP) $(TILES_OBJ) \
               $(filter-out $B/src/cpu/amx.o $(TILES:%.c=$B/%.o),$(LIB))
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

-include $(TILES_OBJ:.o=.d) $(TILES_TEST:$B/tests/tiles/%=$B/tiles/tests/cpu/test_%.d)
