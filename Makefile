# Everything a person does with this repository. `make` lists it; .ci/run calls the same.

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The tools are built from source by the Go toolchain, at the versions in tools/go.mod: nothing to install.
TOOL    := go tool -modfile=tools/go.mod
VERSION  = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Set these on the command line: the packages that test, test-race and lint look at; the folder where run works,
# and so where the embedded default keeps its leadsman.db; more arguments for run, bench, bench-peers and e2e; how
# long each fuzz target runs, and the soak.
PKG      ?= ./...
RUN_DIR  ?= .
ARGS     ?=
FUZZTIME ?= 30s
SOAK     ?= 10m

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## build and start the server on its embedded default (ARGS=…, RUN_DIR=…)
	@cd '$(RUN_DIR)' && exec '$(CURDIR)/bin/leadsman' serve $(ARGS)

.PHONY: build
build: ## build bin/leadsman, one static binary
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/leadsman ./cmd/leadsman

.PHONY: deps
deps: ## make sure that PostgreSQL, PgBouncer, Redis, Chromium and faketime are there for the tests
	@scripts/deps

.PHONY: test
test: deps ## run the tests (PKG=./storage/...); they start their own throwaway databases
	@go test $(PKG)

.PHONY: test-race
test-race: deps ## run the tests under the race detector (needs a C compiler)
	@go test -race $(PKG)

.PHONY: test-page
test-page: deps ## test the page in Chromium, and keep pictures of it in bin/page
	@mkdir -p bin/page
	@go test ./scaler/web/page -run Browser -count 1 -artifacts -outputdir '$(CURDIR)/bin/page'

.PHONY: test-bell
test-bell: deps ## race the armed bell for 100,000 rounds (some 10 minutes)
	@go test ./storage/postgres -run TestBellLosesNoWake -bell.rounds 100000 -timeout 2h -v

.PHONY: test-libraries
test-libraries: ## run the tests that drive the real job libraries (of npm, pinned by a lockfile, and of Debian)
	@scripts/deps libraries
	@cd test/libraries && npm ci --silent --no-audit --no-fund
	@go test -tags libraries ./storage/preset/... ./storage/storagetest

.PHONY: test-image
test-image: ## build the container image with buildah, for two architectures, and run it (needs root, on Linux)
	@scripts/deps image
	@go test -tags image ./deploy/docker -run TestAnEngineBuildsTheImage -count 1 -v -timeout 45m

# KEDA and Kubernetes are built without cgo, as they are released, and once for the tests that use their packages.
E2E = cd test/e2e && CGO_ENABLED=0 go

.PHONY: lint-keda
lint-keda: ## check the code of test/e2e too (it takes types from KEDA and Kubernetes: the first build takes 10 minutes)
	@$(E2E) vet ./...
	@for module in . kinds; do \
		(cd test/e2e/$$module && CGO_ENABLED=0 go tool -modfile='$(CURDIR)/tools/go.mod' golangci-lint run ./...) || exit; done

.PHONY: test-keda
test-keda: build deps ## run KEDA's own scalers against the built binary, under faults too (the first build takes 15 minutes)
	@$(E2E) test -timeout 30m . ./rig ./lint ./faults ./peers/report

.PHONY: e2e
e2e: ## run it all in a cluster: a control plane, KEDA, Prometheus, the built binary (needs root; the first build takes 30 minutes)
	@scripts/deps node
	@cd test/libraries && npm ci --silent --no-audit --no-fund
	@$(E2E) test ./chain -count 1 -parallel 6 -timeout 30m $(ARGS)

.PHONY: soak
soak: build deps ## churn for a time and see that nothing grows (SOAK=10m; the plot is bin/soak.svg)
	@go test ./internal/soak -run TestSoak -count 1 -v -timeout 0 \
		-args -soak.for $(SOAK) -soak.leadsman '$(CURDIR)/bin/leadsman' -soak.plot '$(CURDIR)/bin/soak.svg'

.PHONY: fuzz
fuzz: ## run each fuzz target (FUZZTIME=30s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: bench
bench: build deps ## measure, each figure beside its limit, and print the table (ARGS=-quick: see that it works)
	@go run ./internal/bench $(ARGS)

.PHONY: bench-peers
bench-peers: deps ## measure leadsman beside KEDA's own triggers, in a cluster (25 minutes; ARGS=-peers.quick: see that it works)
	@$(E2E) test ./peers -run TestPeers -count 1 -v -timeout 1h $(ARGS)

.PHONY: lint
lint: ## check formatting, code, protos, and that generated code and go.mod are current
	@$(TOOL) golangci-lint fmt --diff
	@$(TOOL) golangci-lint run $(PKG)
	@go vet $(PKG)
	@$(TOOL) buf lint
	@$(TOOL) buf format --diff --exit-code
	@scripts/proto-check
	@for module in . tools test/e2e test/e2e/kinds test/e2e/prometheus; do (cd $$module && go mod tidy -diff) || exit; done

.PHONY: fmt
fmt: ## format Go and proto files
	@$(TOOL) golangci-lint fmt
	@$(TOOL) buf format -w

.PHONY: proto
proto: ## generate the Go code of proto/
	@$(TOOL) buf generate

.PHONY: clean
clean: ## remove what make built
	@rm -rf bin
