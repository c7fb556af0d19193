# make          build, vet, staticcheck, gofmt, tests
# make test     what must pass before a change goes in; needs Go and nothing else
# make check    the slower looks: staticcheck, cross builds, go.mod, binary size
# make demo     a canary release on the local AWS, with real requests
# make sim      deployments of many seeds, with faults: SEEDS=2000 SEED_START=1,
#               KINDS=CodeDeploy draws those alone
# make kill     deployments killed before and after every write and every row,
#               simulated, and by SIGKILL at every write (make kill-real alone)
# make denials  every write of a deployment denied, refused and left unanswered, and
#               the commands that are printed then
# make trace    what 2,000 drawn deployments write, save and emit, compared with what was
#               recorded; RECORD=1 records it anew, SEED=7 INTO=folder writes one out
# make mutants  broken rules, for each of which a test or the simulation must fail:
#               ONLY=journal runs those of one area; make test runs a tenth
# make bench    the figures that are promised, with their targets
# make clean    take away what was built

GO         ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS   = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
MAX_MB      = 35
BENCH      ?=
ONLY       ?=
SEEDS      ?= 2000
SEED_START ?= 1
KINDS      ?=
DENIED     ?=
RECORD     ?=
SEED       ?=
INTO       ?= testdata

# As users get it: without C, without the symbol tables of debuggers. One setting
# for everything, so that nothing is compiled twice.
export CGO_ENABLED = 0

# Memory is cheaper than minutes: the collector runs a quarter as often.
export GOGC = 400
RELEASE     = $(GO) build -ldflags='-s -w'

# Every file that make or an editor did not leave here, with its checksum.
FINGERPRINT = find . -type f -not -path './.git/*' -not -path './bin/*' -print | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cksum

.PHONY: all build vet staticcheck fmt floors generated test sim kill kill-real outages denials trace mutants demo bench figures check cross tidy size clean

all: build staticcheck test

build:
	$(GO) build ./...
	@mkdir -p bin
	$(RELEASE) -o bin/ ./cmd/...

vet:
	$(GO) vet ./...

# Pinned and run from the module cache, so that nothing needs installing.
staticcheck:
	$(GO) run $(STATICCHECK) ./...

fmt:
	@files=$$(find . -name '*.go' -not -path './.git/*' | xargs "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

# First and alone, because what it says explains most of what would fail later.
floors:
	$(GO) test ./internal/layers

# Generated files are checked in; generating them again must change nothing.
generated:
	@before=$$($(FINGERPRINT)); $(GO) generate ./... || exit 1; after=$$($(FINGERPRINT)); \
	if [ "$$before" != "$$after" ]; then \
		echo "generated files were stale; they are fresh now, look at them and check them in"; exit 1; fi

test: fmt floors generated vet
	$(GO) test -timeout 30m ./...

# A seed that breaks a promise is made small and written to
# internal/rehearse/testdata, where the tests find it.
sim:
	$(GO) test ./internal/rehearse -run '^TestSimulation$$' -count=1 -timeout 12h -v -seeds $(SEEDS) -first $(SEED_START) -kinds '$(KINDS)'

kill: kill-real
	$(GO) test ./internal/rehearse -run '^TestKilledAnywhere$$' -count=1 -timeout 2h -v -kills
	$(GO) test ./internal/piped -run 'Killed|Refused|CancelledAnywhere' -count=1 -timeout 2h -v -kills

# AWS's answers are taken away, or replaced by a proxy's, at 40 points of four deployments.
outages:
	$(GO) test ./internal/rehearse -run '^TestOutages$$' -count=1 -timeout 4h -v -outages

# Each write of a deployment is denied, refused for its parameters or left unanswered,
# and the commands that sluice prints are executed. DENIED=name plays those that match.
denials:
	$(GO) test ./internal/cli -run '^TestEachWriteDeniedInTurn$$' -count=1 -timeout 4h -v -denials -denied '$(DENIED)'

trace:
	$(GO) test ./internal/rehearse -run '^TestTracesAreAsRecorded$$' -count=1 -timeout 1h -v -traces $(if $(RECORD),-record) $(if $(SEED),-trace $(SEED) -written $(abspath $(INTO)))
	$(GO) test ./internal/cli -run '^TestExamplesPrint$$' -count=1 $(if $(RECORD),-update)

kill-real:
	$(GO) test ./cmd/sluice -run '^TestKilledForReal$$' -count=1 -timeout 2h -v -kills

mutants:
	$(GO) test ./internal/mutants -run '^TestMutations' -count=1 -timeout 8h -v -all -only '$(ONLY)' | grep -vE '^=== |PAUSE|CONT'
	$(GO) test ./internal/rehearse -run '^TestMutants' -count=1 -timeout 8h -v -mutants -only '$(ONLY)'

demo:
	$(GO) run ./cmd/sluice demo

# The figures that are promised, with their targets; what they mean is in
# docs/benchmarks.md, which make figures writes anew. Some hours;
# ONLY=rehearse measures those figures alone whose names match.
# make bench BENCH=./internal/clock lists the benchmarks of a package instead
# (BENCH=./... of all): time per operation and what else each reports.
FIGURES = $(GO) test ./internal/cli -run '^TestFigures$$' -figures -only '$(ONLY)' -count=1 -timeout 2h -v

bench:
ifeq ($(BENCH),)
	@$(FIGURES) | awk '/^(=== |--- PASS|PASS|ok)/ { next } { print } /^(FAIL|--- FAIL|panic)/ { bad = 1 } END { exit bad }'
else
	@$(GO) test -run '^$$' -bench . -benchmem $(BENCH) | awk ' \
		/^pkg:/ { pkg = $$2; sub(".*/sluice-ecs/sluice/?", "", pkg) } \
		/^Benchmark/ { name = $$1; sub("^Benchmark", "", name); sub("-[0-9]+$$", "", name); \
			printf "%-28s %-34s", pkg, name; \
			for (i = 3; i < NF; i += 2) printf " %14s %s", $$i, $$(i + 1); printf "\n" } \
		/^(FAIL|---|panic)/ { print; bad = 1 } END { exit bad }'
endif

figures:
	$(FIGURES) -update

check: fmt vet staticcheck tidy cross size

cross:
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./... || exit 1; \
	done

tidy:
	$(GO) mod tidy -diff

size: build
	@mb=$$(( ($$(wc -c < bin/sluice) + 999999) / 1000000 )); \
	echo "sluice is $$mb MB (at most $(MAX_MB))"; [ $$mb -lt $(MAX_MB) ]

clean:
	rm -rf bin
	$(GO) clean -testcache
