# make          build, vet, staticcheck, gofmt, tests
# make test     must pass before a change is merged; needs only Go
# make test-long  what make test leaves out: more seeds, a tenth of the mutations, processes that are killed, a trial
#               release; CI runs it too
# make test-real  the tests with programs of others: installs Prometheus from Debian, uses terraform and pulumi
#               (SUDO=sudo if you are not root)
# make check    slower checks: staticcheck, cross builds, go.mod, binary size
# make release VERSION=v1.2.3  the files of a release, in dist: the same bytes on every machine
# make release-check  a trial release for this machine: built, packed, installed
# make demo     a canary release on the local AWS, with real requests
# make sim      deployments of many seeds, with faults: SEEDS=2000 SEED_START=1;
#               KINDS=CodeDeploy generates only deployments of that kind
# make kill     deployments that are killed before and after every write and every row:
#               simulated, and by SIGKILL at every write (only that: make kill-real)
# make denials  every write of a deployment denied, refused and left without a response,
#               and the commands that are printed then
# make trace    the writes, saved values and events of 2,000 generated deployments, compared
#               with a record; RECORD=1 writes the record again, SEED=7 INTO=folder writes
#               one trace
# make mutants  broken rules; a test or the simulation must fail for each: ONLY=journal
#               runs those of one area; make test-long runs a tenth
# make gates    the error rates of metric gates and of other methods, with simulated releases
# make bench    the promised figures, with their targets
# make layers   the rules for the layers of the module
# make lines    the lines of Go code of each top folder: product, tests, generated
# make clean    delete the build results

GO         ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS   = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
MAX_MB      = 80
PROVIDER_MB = 25
BENCH      ?=
ONLY       ?=
SEEDS      ?= 2000
SEED_START ?= 1
KINDS      ?=
DENIED     ?=
RECORD     ?=
SEED       ?=
INTO       ?= testdata

# The build that users get: without C and without symbol tables for debuggers. All targets
# use one setting, so that each package is compiled once.
export CGO_ENABLED = 0

# The garbage collector runs a quarter as often: more memory, shorter builds and tests.
export GOGC = 400

# Paths are no part of the build, so a fresh clone uses what another folder has compiled.
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))
COMMIT      = $(shell git rev-parse HEAD 2>/dev/null)
# Without the traces of gRPC, which call methods by name, the linker drops unused methods: a provider has 12 MB less.
RELEASE     = $(GO) build -tags grpcnotrace -ldflags='-s -w -X github.com/sluice-ecs/sluice/internal/buildinfo.linkedCommit=$(COMMIT)'

# FINGERPRINT lists every file with its checksum, except those of git and of the build.
FINGERPRINT = find . -type f -not -path './.git/*' -not -path './bin/*' -not -path './dist/*' -print | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cksum

.PHONY: release release-check all build vet staticcheck fmt layers generated test test-real engine test-long sim kill kill-real outages denials gates trace mutants demo bench figures check cross tidy size lines clean

all: build staticcheck test

build:
	$(GO) build ./...
	@mkdir -p bin
	$(RELEASE) -o bin/ ./cmd/...

vet:
	$(GO) vet ./...
	cd release && $(GO) vet ./...

# Pinned, and run from the module cache: no installation is needed.
staticcheck:
	$(GO) run $(STATICCHECK) ./...
	cd release && $(GO) run $(STATICCHECK) ./...

fmt:
	@files=$$(find . -name '*.go' -not -path './.git/*' | xargs "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	if [ -n "$$files" ]; then echo "not formatted (gofmt -w):"; echo "$$files"; exit 1; fi

# First and alone, because its messages explain most of the failures that would follow.
layers:
	$(GO) test ./internal/layers

# Generated files are checked in. If they change when they are generated again, the test fails.
generated:
	@before=$$($(FINGERPRINT)); $(GO) generate ./... || exit 1; after=$$($(FINGERPRINT)); \
	if [ "$$before" != "$$after" ]; then \
		echo "generated files were outdated; they are generated again now: review them and commit them"; exit 1; fi

# Tests with the programs of others skip where the program is not installed. This target installs Prometheus from Debian,
# and uses terraform and pulumi if they are on PATH or, for pulumi, built by make engine.
test-real:
	@command -v prometheus >/dev/null || $(SUDO) apt-get install -y --no-install-recommends prometheus
	$(GO) test ./internal/stage/gates -run Real -count=1 -v
	$(GO) test ./internal/terraform -run Acc -count=1 -v
	PATH="$(ENGINE):$$PATH" $(GO) test ./internal/pulumi -run RealEngine -count=1 -v

# Pulumi's program and its host for programs in YAML, from the Go module proxy: 1,700 packages, 20 minutes on two cores.
ENGINE = $(CURDIR)/.engine
PULUMI = github.com/pulumi/pulumi/pkg/v3
YAML_HOST = github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml
engine:
	mkdir -p $(ENGINE) && cd $(ENGINE) && { test -f go.mod || $(GO) mod init engine; }
	cd $(ENGINE) && GOFLAGS=-mod=mod $(GO) get $(PULUMI)/cmd/pulumi@v3.274.1
	cd $(ENGINE) && GOFLAGS=-mod=mod $(GO) build -o pulumi $(PULUMI)/cmd/pulumi
	mkdir -p $(ENGINE)/yaml && cd $(ENGINE)/yaml && { test -f go.mod || $(GO) mod init yaml; }
	cd $(ENGINE)/yaml && GOFLAGS=-mod=mod $(GO) get $(YAML_HOST)@v1.25.0
	cd $(ENGINE)/yaml && GOFLAGS=-mod=mod $(GO) build -o ../pulumi-language-yaml $(YAML_HOST)

test: fmt layers generated vet
	$(GO) test -short -timeout 30m -vet=off -ldflags=-w ./...

# The tests that do less, or nothing, with -short. internal/layers checks that each of them is here.
LONG = ./cmd/sluice ./internal/mutants ./internal/piped ./internal/rehearse/... ./internal/watch
LONG_TESTS = Long|Killed|OutageAtAnyCall|TestOutages|Mutations|Mutants|Simulation|Traces|RollingDeployment|AFailingDeployment|FromTheEnd|Thousand
test-long: release-check
	$(GO) test -timeout 60m -vet=off -ldflags=-w $(LONG) -run '$(LONG_TESTS)'

# The module in release writes the files of a release (docs/adr/0036-releases.md).
release:
	@[ -n "$(VERSION)" ] || { echo "name the version: make release VERSION=v1.2.3"; exit 1; }
	rm -rf dist
	cd release && $(GO) run . -version $(VERSION)
	@ls -l dist

release-check:
	cd release && $(GO) test -timeout 20m -vet=off -ldflags=-w -count=1 -snapshot -v . | awk ' \
		/^(=== |--- PASS|PASS)/ { next } { print } /^(FAIL|--- FAIL|panic)/ { bad = 1 } /^ok/ { ok = 1 } \
		END { exit bad || !ok }'

# If a seed breaks a promise, its case is made smaller and written to
# internal/rehearse/simtest/testdata. The tests run it from then on.
sim:
	$(GO) test ./internal/rehearse/simtest -run '^TestSimulation$$' -count=1 -timeout 12h -v -seeds $(SEEDS) -first $(SEED_START) -kinds '$(KINDS)'

kill: kill-real
	$(GO) test ./internal/rehearse/simtest -run '^TestKilledAnywhere$$' -count=1 -timeout 2h -v -kills
	$(GO) test ./internal/piped -run 'Killed|Refused|CancelledAnywhere' -count=1 -timeout 2h -v -kills

# AWS's responses are dropped, or replaced by those of a proxy, at 40 points of four deployments.
outages:
	$(GO) test ./internal/rehearse/simtest -run '^TestOutages$$' -count=1 -timeout 4h -v -outages

# Each write of a deployment is denied, refused for its parameters or left without a response,
# and the commands that sluice prints are executed. DENIED=name runs those that match.
denials:
	$(GO) test ./internal/cli -run '^TestEachWriteDeniedInTurn$$' -count=1 -timeout 4h -v -denials -denied '$(DENIED)'

# The table of docs/statistics.md, and whether the code still has these figures.
gates:
	$(GO) test ./internal/analysis -run '^(TestErrorRates|TestGoodReleases|TestShare|TestBadCanaries|TestClumped|TestEarlyPass|TestPairedKeeps)' -count=1 -timeout 2h -v -gates $(if $(RECORD),-update) | grep -vE '^(=== |--- PASS)'

trace:
	$(GO) test ./internal/rehearse/simtest -run '^TestTracesAreAsRecorded$$' -count=1 -timeout 1h -v -traces $(if $(RECORD),-record) $(if $(SEED),-seed-trace $(SEED) -written $(abspath $(INTO)))
	$(GO) test ./internal/cli -run '^TestExamplesPrint$$' -count=1 $(if $(RECORD),-update)

kill-real:
	$(GO) test ./cmd/sluice -run '^TestKilledForReal$$' -count=1 -timeout 2h -v -kills

mutants:
	$(GO) test ./internal/mutants -run '^TestMutations' -count=1 -timeout 8h -v -all -only '$(ONLY)' | grep -vE '^=== |PAUSE|CONT'
	$(GO) test ./internal/rehearse/simtest -run '^TestMutants' -count=1 -timeout 8h -v -mutants -only '$(ONLY)'

demo:
	$(GO) run ./cmd/sluice demo

# The promised figures, with their targets. docs/benchmarks.md explains them; make figures
# writes that page again. It takes some hours. ONLY=rehearse measures only figures whose
# names match. make bench BENCH=./internal/clock lists the benchmarks of a package instead
# (BENCH=./... those of all packages): time per operation and the other values of each.
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
	cd release && $(GO) mod tidy -diff

size: build
	@mb=$$(( ($$(wc -c < bin/sluice) + 999999) / 1000000 )); \
	echo "sluice is $$mb MB (at most $(MAX_MB))"; [ $$mb -le $(MAX_MB) ]
	@for p in pulumi-resource-sluice terraform-provider-sluice; do \
		mb=$$(( ($$(wc -c < bin/$$p) + 999999) / 1000000 )); \
		echo "$$p is $$mb MB (at most $(PROVIDER_MB))"; [ $$mb -lt $(PROVIDER_MB) ] || exit 1; done

# Every line of a .go file counts, comments and empty lines too. Tests are _test.go files, and packages whose name
# ends in "test": only tests import them. A file is generated if a line says so as Go requires.
lines:
	@find . -name '*.go' -not -path './.git/*' -not -path './bin/*' | LC_ALL=C sort | LC_ALL=C awk ' \
		{ file = $$0; count = 0; kind = file ~ /(_test\.go|[^\/.]test\/[^\/]*)$$/ ? "tests" : "product"; \
			while ((getline line < file) > 0) { count++; \
				if (line ~ /^\/\/ Code generated .* DO NOT EDIT\.$$/) kind = "generated" } \
			close(file); split(file, part, "/"); folder = part[3] == "" ? "." : part[2]; \
			if (!(folder in known)) { known[folder]; folders[++last] = folder } \
			sum[folder, kind] += count; sum["total", kind] += count } \
		END { printf "%-10s %10s %10s %10s\n", "", "product", "tests", "generated"; folders[++last] = "total"; \
			for (i = 1; i <= last; i++) { folder = folders[i]; printf "%-10s %10d %10d %10d\n", folder, \
				sum[folder, "product"], sum[folder, "tests"], sum[folder, "generated"] } }'

clean:
	rm -rf bin dist
	$(GO) clean -testcache
