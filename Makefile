# Makefile: builds, checks and installs sinkd. Run configure first, here or in a folder of its own.
#
# It needs GNU make: sources are found by wildcard, so that a new file needs no edit here, and the
# objects mirror the tree under the build folder. Every system that sinkd is for has it, as make or
# gmake. User variables (CC CFLAGS CPPFLAGS LDFLAGS LIBS ...) are never changed here, so what is
# given on the command line wins; what the program needs stands in SINKD_*.

ifeq ($(filter distclean,$(MAKECMDGOALS)),)
ifeq ($(wildcard config.mak),)
$(error There is no config.mak here: run ./configure first, or /path/to/configure from a build folder)
endif
endif
-include config.mak
srcdir ?= .

RUNNER =
INSTALL = install
FUZZ_SECONDS = 20
# Folders of the builds that "asan" and the like make for themselves.
SUB = build-

# ---- what there is ----------------------------------------------------------------------------

find = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(addprefix $(srcdir)/,$(1)))))

LIB_OBJS := $(patsubst %.c,%.o,$(call find,src/*/*.c))
MAIN_OBJ := $(patsubst %.c,%.o,$(call find,src/main.c))
SUPPORT_OBJS := $(patsubst %.c,%.o,$(filter-out tests/support/fuzz_main.c,$(call find,tests/support/*.c)))
UNIT_TESTS := $(patsubst %.c,%,$(call find,tests/unit/test_*.c tests/integration/test_*.c))
PEERS := $(patsubst %.c,%,$(call find,tests/peers/*.c))
BENCHES := $(patsubst %.c,%,$(call find,tests/bench/*.c))
FUZZERS := $(patsubst %.c,%,$(call find,tests/fuzz/fuzz_*.c))
REPLAYS := $(patsubst tests/fuzz/fuzz_%,tests/fuzz/replay_%,$(FUZZERS))
STYLE_CHECKS := $(call find,tests/check/check-*)
BINARY := $(if $(MAIN_OBJ),sinkd)

OBJS := $(LIB_OBJS) $(MAIN_OBJ) $(SUPPORT_OBJS) tests/support/fuzz_main.o \
	$(addsuffix .o,$(UNIT_TESTS) $(PEERS) $(BENCHES) $(FUZZERS))
FOLDERS := $(sort $(dir $(OBJS)))

INCLUDES = -I. -I$(srcdir)/src
TEST_INCLUDES = -I$(srcdir)/tests
COMPILE = $(CC) $(INCLUDES) $(SINKD_CPPFLAGS) $(CPPFLAGS) $(SINKD_CFLAGS) $(CFLAGS) -MMD -MP
LINK = $(CC) $(SINKD_CFLAGS) $(CFLAGS) $(SINKD_LDFLAGS) $(LDFLAGS)

# ---- building ---------------------------------------------------------------------------------

.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all objects check-programs check check-unit check-style check-corpus check-e2e check-all \
	lint fmt asan tsan valgrind scan-build clang-tidy analyzer musl-objects fuzz bench \
	install install-strip uninstall clean distclean dist

all: libsinkd.a $(BINARY)

objects: $(OBJS)

# "make V=1" shows the commands.
quiet = $(if $(filter-out 0,$(V)),,@echo '  $(1) $(patsubst $(CURDIR)/%,%,$@)';)

config.mak: $(srcdir)/configure $(srcdir)/VERSION
	$(CONFIGURE)

src/%.o: $(srcdir)/src/%.c config.mak
	@mkdir -p $(@D)
	$(call quiet,CC  )$(COMPILE) -c -o $@ $<

tests/%.o: $(srcdir)/tests/%.c config.mak
	@mkdir -p $(@D)
	$(call quiet,CC  )$(COMPILE) $(TEST_INCLUDES) -c -o $@ $<

# The list changes when a source is removed; then what was made of it must go from the library.
objects.list: FORCE
	@echo '$(LIB_OBJS)' | cmp -s - $@ || echo '$(LIB_OBJS)' >$@
FORCE:

libsinkd.a: $(LIB_OBJS) objects.list
	@rm -f $@
	$(call quiet,AR  )$(AR) rcs $@ $(LIB_OBJS)

sinkd: $(MAIN_OBJ) libsinkd.a
	$(call quiet,LINK)$(LINK) -o $@ $(MAIN_OBJ) libsinkd.a $(SINKD_LIBS) $(LIBS)
	@if [ "$(STATIC)" = yes ] && readelf -lW $@ 2>/dev/null | grep -q INTERP; then \
		echo "$@ was to be static, but it asks for a dynamic loader" >&2; rm -f $@; exit 1; fi

# Support files may use cmocka, so all test programs are linked with it.
TEST_LIBS = $(SUPPORT_OBJS) libsinkd.a $(SINKD_LIBS) $(LIBS)

$(UNIT_TESTS): %: %.o $(SUPPORT_OBJS) libsinkd.a
	@[ -n "$(CMOCKA_LIBS)" ] || { echo "cmocka was not found by configure; install it (Debian: libcmocka-dev, Alpine: cmocka-dev) and configure again" >&2; exit 1; }
	$(call quiet,LINK)$(LINK) -o $@ $< $(TEST_LIBS) $(CMOCKA_LIBS)

$(PEERS) $(BENCHES): %: %.o $(SUPPORT_OBJS) libsinkd.a
	$(call quiet,LINK)$(LINK) -o $@ $< $(TEST_LIBS) $(CMOCKA_LIBS)

$(REPLAYS): tests/fuzz/replay_%: tests/fuzz/fuzz_%.o tests/support/fuzz_main.o $(SUPPORT_OBJS) libsinkd.a
	$(call quiet,LINK)$(LINK) -o $@ $< tests/support/fuzz_main.o $(TEST_LIBS) $(CMOCKA_LIBS)

-include $(OBJS:.o=.d)

# ---- checks -----------------------------------------------------------------------------------

# tests/run runs one kind of tests and adds its figures to the tally; "total" prints the sum.
TALLY = check.tally
RUN = SINKD_SRCDIR=$(srcdir) SINKD_BUILDDIR=$(CURDIR) RUNNER="$(RUNNER)" NM="$(NM)" CC="$(CC)" \
	CPPFLAGS="$(CPPFLAGS)" sh $(srcdir)/tests/run $(TALLY)

check-programs: all $(UNIT_TESTS) $(REPLAYS) $(PEERS) $(BENCHES)

# All parts run even when one fails; the last line says how many did.
check: check-programs
	@rm -f $(TALLY)
	@$(RUN) unit $(UNIT_TESTS); $(RUN) style $(STYLE_CHECKS); $(RUN) corpus $(REPLAYS); \
	$(RUN) e2e $(BINARY); $(RUN) total

check-unit: $(UNIT_TESTS)
	@rm -f $(TALLY)
	@$(RUN) unit $(UNIT_TESTS); $(RUN) total

check-style: $(LIB_OBJS)
	@rm -f $(TALLY)
	@$(RUN) style $(STYLE_CHECKS); $(RUN) total

check-corpus: $(REPLAYS)
	@rm -f $(TALLY)
	@$(RUN) corpus $(REPLAYS); $(RUN) total

check-e2e: all $(PEERS)
	@rm -f $(TALLY)
	@$(RUN) e2e $(BINARY); $(RUN) total
