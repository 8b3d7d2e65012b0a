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
FUZZ_JOBS = 2
# Folders of the builds that "asan" and the like make for themselves.
SUB = build-

# A comma for the arguments of functions.
, := ,

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
STYLE_CHECKS := $(call find,tests/check/*)
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
.PHONY: check-kafka all objects check-programs check check-unit check-style check-corpus check-e2e \
	check-short check-all lint fmt asan tsan valgrind scan-build clang-tidy analyzer musl-objects \
	fuzz fuzz-run bench install install-strip uninstall clean distclean dist FORCE

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
	CPPFLAGS="$(filter -I%,$(SINKD_CPPFLAGS)) $(CPPFLAGS)" sh $(srcdir)/tests/run $(TALLY)

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

# Against a real Apache Kafka, which is fetched once into ~/.cache/sinkd (or $SINKD_CACHE).
check-kafka: all
	@SINKD=$(CURDIR)/sinkd sh $(srcdir)/tests/kafka/run

# What a build with sanitizers runs: the end-to-end scripts in their short form.
check-short: check-programs
	@rm -f $(TALLY)
	@$(RUN) unit $(UNIT_TESTS); $(RUN) corpus $(REPLAYS); SINKD_E2E=short $(RUN) e2e $(BINARY); \
	$(RUN) total

# need TOOL,PACKAGE: an error that names the package when there is no such tool.
need = @command -v $(1) >/dev/null 2>&1 || { echo "$(1) is missing: install $(2)" >&2; exit 1; }
# sub NAME,ARGUMENTS: configure a build of its own in a folder here, as this one but for ARGUMENTS.
sub = @mkdir -p $(SUB)$(1) && cd $(SUB)$(1) && \
	if [ ! -f config.mak ] || [ -n "$$(find $(srcdir)/configure $(srcdir)/Makefile ../config.mak -newer config.mak)" ]; then \
	$(CONFIGURE) --disable-hardening $(2) >configure.out || { cat configure.out; exit 1; }; fi

asan:
	$(call sub,asan,CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=address$(,)undefined -fno-sanitize-recover=all')
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
	UBSAN_OPTIONS=print_stacktrace=1 $(MAKE) -C $(SUB)asan check-short

tsan:
	$(call sub,tsan,CFLAGS='-O1 -g -fno-omit-frame-pointer -fsanitize=thread')
	TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 $(MAKE) -C $(SUB)tsan check-short

valgrind: check-programs
	$(call need,valgrind,valgrind)
	@rm -f $(TALLY)
	@SINKD_TEST_SECONDS=1800 $(RUN) unit $(UNIT_TESTS); $(RUN) total
valgrind: RUNNER = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite

scan-build:
	$(call need,scan-build,clang-tools)
	$(call sub,scan,CC=clang CFLAGS=-O1)
	scan-build --status-bugs --use-cc=clang -o $(SUB)scan/report \
		sh -c '$(MAKE) -C $(SUB)scan CC="$$CC" all'

clang-tidy:
	$(call need,clang-tidy,clang-tidy)
	clang-tidy --quiet --warnings-as-errors='*' $(addprefix $(srcdir)/,$(call find,src/*.c src/*/*.c)) -- \
		$(INCLUDES) $(SINKD_CPPFLAGS) -std=c99

# gcc 12 takes each pointer that was ever compared with NULL for one that may be NULL, whatever the
# length beside it says, and loses structs passed by value: both are left to "scan-build" and valgrind.
analyzer:
	$(call need,gcc,gcc)
	$(call sub,analyzer,--enable-werror CC=gcc CFLAGS='-O2 -g -fanalyzer -Wno-analyzer-null-dereference -Wno-analyzer-null-argument \
		-Wno-analyzer-use-of-uninitialized-value')
	$(MAKE) -C $(SUB)analyzer all

# Where musl is the libc, the compiler is one already.
MUSL_CC = $(if $(findstring musl,$(shell $(CC) -dumpmachine 2>/dev/null)),$(CC),musl-gcc)

# Every file with musl's headers. Nothing is linked: a distribution's static libraries are made for
# its own libc, so the answers that need them are given; only the headers are lent.
musl-objects:
	$(call need,$(MUSL_CC),musl-tools)
	@mkdir -p $(SUB)musl/include
	@for dir in /usr/include /usr/include/$$(cc -dumpmachine) /usr/local/include; do \
		for name in lmdb.h zlib.h zconf.h cmocka.h mbedtls psa; do \
			[ ! -e $$dir/$$name ] || ln -sfn $$dir/$$name $(SUB)musl/include/$$name; done; done
	$(call sub,musl,--enable-werror CC=$(MUSL_CC) CPPFLAGS='-isystem $(CURDIR)/$(SUB)musl/include' \
		SINKD_HAVE_LMDB=yes SINKD_HAVE_ZLIB=yes SINKD_HAVE_TLS=yes SINKD_CMOCKA=yes)
	$(MAKE) -C $(SUB)musl objects

# libFuzzer, FUZZ_SECONDS for each target, FUZZ_JOBS at a time. What it finds is kept: fuzz-found/NAME/ has the inputs that
# broke something, which then belong into tests/fuzz/corpus/NAME/ with the mending.
fuzz:
	$(call need,clang,clang)
	$(call sub,fuzz,CC=clang CFLAGS='-O1 -g -fsanitize=fuzzer-no-link$(,)address$(,)undefined -fno-sanitize-recover=all')
	$(MAKE) -C $(SUB)fuzz fuzz-run FUZZ_SECONDS=$(FUZZ_SECONDS)

$(FUZZERS): tests/fuzz/fuzz_%: tests/fuzz/fuzz_%.o $(SUPPORT_OBJS) libsinkd.a
	$(call quiet,LINK)$(LINK) -fsanitize=fuzzer -o $@ $< $(TEST_LIBS) $(CMOCKA_LIBS)

fuzz-run: $(FUZZERS)
	@rm -f $(TALLY)
	@printf '%s\n' $(FUZZERS) | FUZZ_SECONDS=$(FUZZ_SECONDS) xargs -n 1 -P $(FUZZ_JOBS) env $(RUN) fuzz; \
	$(RUN) total

bench: all $(BENCHES)
	@if [ -f $(srcdir)/tests/bench/run ]; then \
		SINKD=$(CURDIR)/sinkd SINKD_BUILDDIR=$(CURDIR) $(srcdir)/tests/bench/run && \
		SINKD=$(CURDIR)/sinkd SINKD_BUILDDIR=$(CURDIR) $(srcdir)/tests/bench/mqtt; \
	else echo "There is no tests/bench/run." >&2; exit 1; fi

# ---- the sources themselves -------------------------------------------------------------------

C_FILES = $(addprefix $(srcdir)/,$(call find,src/*.[ch] src/*/*.[ch] tests/*/*.[ch]))
SCRIPTS = $(shell cd $(srcdir) && find configure scripts .ci tests examples contrib -type f 2>/dev/null | \
	while read -r f; do ! sed -n 1p "$$f" | grep -aqE '^\#!.*[/ ](ba|da)?sh( |$$)' || echo $(srcdir)/$$f; done)

# Left out: it takes the address of a variable for a use of its value (the compilers and valgrind look
# for those), and it need not read the system's headers.
CPPCHECK_NOT = --suppress=uninitvar --suppress=ctuuninitvar --suppress=missingIncludeSystem

fmt:
	$(call need,clang-format,clang-format)
	clang-format -i $(C_FILES)

lint: check-style
	$(call need,clang-format,clang-format)
	$(call need,shellcheck,shellcheck)
	$(call need,cppcheck,cppcheck)
	clang-format --dry-run -Werror $(C_FILES)
	shellcheck $(SCRIPTS)
	cppcheck --quiet --error-exitcode=1 --std=c99 --enable=warning,performance,portability \
		$(CPPCHECK_NOT) -I$(srcdir)/src -I. $(srcdir)/src

check-all: check
	$(MAKE) lint
	$(MAKE) asan
	$(MAKE) tsan
	$(MAKE) valgrind
	$(MAKE) scan-build
	$(MAKE) clang-tidy
	$(MAKE) analyzer
	$(MAKE) musl-objects

# ---- installing -------------------------------------------------------------------------------

# No user is made and nothing is given to anybody: that is for the package, or for the operator.
install: all
	$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(sysconfdir)/sinkd
	$(INSTALL) -m 755 sinkd $(DESTDIR)$(bindir)/sinkd
	@if [ -e $(DESTDIR)$(sysconfdir)/sinkd/sinkd.toml ]; then \
		echo "kept $(DESTDIR)$(sysconfdir)/sinkd/sinkd.toml as it is"; \
	elif [ -f $(srcdir)/sinkd.toml ]; then \
		echo "$(INSTALL) -m 644 sinkd.toml $(DESTDIR)$(sysconfdir)/sinkd/sinkd.toml"; \
		$(INSTALL) -m 644 $(srcdir)/sinkd.toml $(DESTDIR)$(sysconfdir)/sinkd/sinkd.toml; fi

install-strip: install
	$(STRIP) $(DESTDIR)$(bindir)/sinkd

# The configuration and the store are the operator's and stay.
uninstall:
	rm -f $(DESTDIR)$(bindir)/sinkd

clean:
	rm -f sinkd libsinkd.a objects.list $(TALLY) $(OBJS) $(OBJS:.o=.d) $(UNIT_TESTS) $(PEERS) \
		$(BENCHES) $(FUZZERS) $(REPLAYS)
	rm -rf $(addprefix $(SUB),asan tsan scan analyzer musl fuzz)
	@[ "$(srcdir)" = "$(CURDIR)" ] || rm -rf src tests

distclean:
	[ ! -f config.mak ] || $(MAKE) clean
	rm -f config.mak config.h config.log
	[ ! -f Makefile ] || ! grep -q '^# Written by configure' Makefile || rm -f Makefile

# From what is committed, with its time: the same commit gives the same bytes anywhere.
dist:
	git -C $(srcdir) archive --format=tar --prefix=sinkd-$(VERSION)/ HEAD | \
		gzip -n -9 >sinkd-$(VERSION).tar.gz
