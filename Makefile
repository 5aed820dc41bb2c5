# `make` lists the targets. Each is one command that can be run by hand; the work is in scripts/.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Programs of tests/ are built with the flags of scripts/build, so that what they share with the operator is compiled once.
RUN := CGO_ENABLED=0 go run -trimpath

# Packages and flags of `go test` instead of what `make test` and `make test-unit` run, as in: make test TESTS="-run I1 ./tests/integration"
TESTS ?=
# The Kubernetes that `make test` runs on, of the versions below tests/controlplane: the newest without it. HELM=older has it use the
# older versions of Helm 3 and Helm 4. With either only the tests of the promises run, as in: make test KUBERNETES=1.30
KUBERNETES ?=
HELM ?=
export KUBERNETES HELM
# RACE=1 turns the race detector on.
RACE ?=
export RACE
# ONE_CORE=1 leaves the tests half of one processor.
ONE_CORE ?=
export ONE_CORE
UNIT_TESTS ?= ./pkg/... ./crds/...
# Flags of tests/cmd/mutants for `make test-mutants`
MUTANTS ?=
IMAGE ?= rancher/helm-locker

.PHONY: help
help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the operator and the commands into bin/
	@scripts/build

.PHONY: test
test: ## Run the tests that prove the promises, on a real control plane: a quarter of an hour (TESTS= runs others)
	@scripts/test $(TESTS)

.PHONY: test-long
test-long: ## Run all other suites: tampering, documents, charts, commands, browser, soak, releases (tests/README.md)
	@scripts/test --long

.PHONY: test-all
test-all: test test-long ## Run all tests

# Which runs `make test-versions` makes, as in: make test-versions VERSIONS="1.33 older-helm" (scripts/test-versions lists them)
VERSIONS ?=

.PHONY: test-versions
test-versions: ## Run the tests of the promises on several versions of Kubernetes and Helm: an hour (docs/compatibility.md)
	@scripts/test-versions $(VERSIONS)

# Flags for `make test-node`, as in: make test-node NODE="-v -run InASoak -timeout 90m -args -soak 1h"
NODE ?=

.PHONY: test-node
test-node: ## Install the chart on a real node, from the image of a release, and end its Pods in every way (needs root)
	@scripts/test-node $(NODE)

# Flags for `make test-neighbours`; -args -record writes the table in docs/compatibility.md.
NEIGHBOURS ?=

.PHONY: test-neighbours
test-neighbours: ## Run releases beside real controllers and helmfile, which it builds (a quarter of an hour, once)
	@scripts/test ./tests/real $(NEIGHBOURS)

.PHONY: test-unit
test-unit: ## Run the tests that need no control plane
	@go test -count=1 $(UNIT_TESTS)

.PHONY: test-mutants
test-mutants: ## Break each promise on purpose and see its tests fail (MUTANTS="-run I2" narrows it, -list lists)
	@$(RUN) ./tests/cmd/cluster build >&2
	@go run ./tests/cmd/mutants $(MUTANTS)

# Flags of tests/model for `make model`
MODEL ?=

.PHONY: model
model: ## Check the protocols behind I1, I4 and I5 as models, with SPIN (MODEL="-run 'two gets' -trail" narrows it)
	@go run ./tests/model $(MODEL)

# Flags for `make test-tamper`, as in: make test-tamper TAMPER="-seed 7 -charts shapes,podinfo -table /tmp/table.md"
TAMPER ?=

.PHONY: test-tamper
test-tamper: ## Tamper with every object of every chart in every way, and print what became of it (TAMPER= adds flags)
	@$(RUN) ./tests/cmd/cluster build >&2
	@go test -count=1 -v -timeout 180m -run '^TestTamper$$' ./tests/tamper -full $(TAMPER)

.PHONY: test-kinds
test-kinds: ## The same with an object of every kind that the API server serves (TAMPER= adds flags)
	@$(RUN) ./tests/cmd/cluster build >&2
	@go test -count=1 -v -timeout 180m -run '^TestEveryKind$$' ./tests/tamper -full $(TAMPER)

# Seconds for each target, and a regular expression of targets, as in: make fuzz FUZZ_SECONDS=60 FUZZ=Parse
FUZZ_SECONDS ?= 20
FUZZ ?= .

.PHONY: fuzz
fuzz: ## Run every fuzz target for a while (FUZZ_SECONDS= for how long each, FUZZ= which)
	@scripts/fuzz "$(FUZZ_SECONDS)" "$(FUZZ)"

.PHONY: fmt
fmt: ## Format the Go code and group its imports
	@go tool -modfile=tools/lint/go.mod golangci-lint fmt

.PHONY: lint
lint: ## Run golangci-lint (pinned in tools/lint; the first run builds it)
	@scripts/lint

.PHONY: generate
generate: ## Make all generated files: deepcopy, controllers, CRDs, API and command reference, the chart's CRDs
	@scripts/generate

.PHONY: verify
verify: ## Check formatting, modules and generated files; fail on a tree that differs from the git index
	@scripts/verify

.PHONY: charts-check
charts-check: ## Lint and render the charts over combinations of values, and have an API server check what came out (part of test)
	@scripts/test -run 'Charts|Notes|CRDs|Rendered|Restricted' ./tests/chart

.PHONY: check
check: ## Run everything that CI runs: all tests, lint, verify, demo, bench, fuzz, vulncheck
	@.ci/run

.PHONY: demo
demo: ## Lock charts on a real control plane, tamper with them, and show every revert (the first time builds up to ten minutes)
	@scripts/demo

# Flags for `make bench`, as in: make bench BENCH="-only storm,scale" (`go run ./tests/cmd/bench -help` lists them)
BENCH ?= -docs docs

.PHONY: bench
bench: ## Measure the operator next to a minimal watch-and-patch reactor, and write docs/benchmarks.md (15 minutes)
	@$(RUN) ./tests/cmd/cluster build >&2
	@$(RUN) ./tests/cmd/bench $(BENCH)

# Flags for `make soak`, as in: make soak SOAK="-duration 2m -seed 7"
SOAK ?=

.PHONY: soak
soak: ## Thirty minutes of everything at once: Helm, tampering, failures; then the proof that all is as it should be
	@$(RUN) ./tests/cmd/cluster build >&2
	@$(RUN) ./tests/soak $(SOAK)

.PHONY: cluster-up
cluster-up: build ## Start a control plane to play with, and print the line by which a shell uses it
	@$(RUN) ./tests/cmd/cluster up

.PHONY: cluster-down
cluster-down: ## Stop the control plane that cluster-up started
	@$(RUN) ./tests/cmd/cluster down

.PHONY: image
image: ## Build the container image (needs docker with BuildKit; IMAGE= names it)
	@eval "$$(scripts/version)"; docker build --build-arg "VERSION=$$VERSION" --build-arg "COMMIT=$$COMMIT" \
		--build-arg "DATE=$$DATE" --tag "$(IMAGE):$$VERSION" .

.PHONY: release-dry-run
release-dry-run: ## Make in dist/ all that a release of this tree would consist of; no docker, no network but for modules
	@scripts/release --dry-run

.PHONY: release
release: ## Make in dist/ the release of the tag that is checked out, and say how to publish it
	@scripts/release

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities in what is linked (VULNDB= names another database than vuln.go.dev)
	@scripts/vulncheck

.PHONY: clean
clean: ## Remove what was built (the cached control plane binaries stay)
	@rm -rf bin dist
