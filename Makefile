# Hearth. `make` lists the targets; each installs missing dependencies.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build arm64 web bpf wheel vscode install deb tarball release check test test-all test-packages bench soak play-and-sim fmt docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Record a real ./configure, predict it for the papers' machines, write out/report.html
	@scripts/demo

build: ## Build the hearth binary: target/release/hearth
	@scripts/need rust cc elf
	cargo build --locked --release -p hearth-sched

arm64: ## Cross-build hearth for 64-bit Arm, on Debian: target/aarch64-unknown-linux-gnu/release/hearth
	@scripts/arm64

web: ## Build the pages that the hearth binary embeds, after changes in web/: web/page
	@scripts/web

bpf: ## Compile the built-in policies and the recorder for the kernel: target/bpf/NAME.bpf.o
	@scripts/bpf

wheel: ## Build the Python package: out/wheel/hearth_sched-VERSION.whl
	@scripts/need rust cc wheel
	cd python && PYTHONPATH=../out/tools/wheel ../out/tools/wheel/bin/maturin build --release --locked --out ../out/wheel

vscode: ## Pack the extension of Visual Studio Code: out/vscode/NAME.vsix
	@scripts/vscode

PREFIX ?= /usr/local
install: build bpf ## Install hearth, its BPF objects, systemd unit, manual and completions below PREFIX
	@scripts/install "$(DESTDIR)" "$(PREFIX)"

deb: ## Build the Debian package: out/deb/hearth_VERSION_amd64.deb
	@scripts/reproducible $(MAKE) --no-print-directory build bpf
	@scripts/reproducible scripts/deb

tarball: ## Build a tarball of what `make install` installs: out/tarball/hearth-VERSION-linux-x86_64.tar.gz
	@scripts/reproducible $(MAKE) --no-print-directory build bpf
	@scripts/reproducible scripts/tarball

release: ## Build all packages of a tagged version: make release URL=https://HOST/PROJECT; out/release (scripts/release --snapshot: of any commit)
	@scripts/release "$(URL)"

test-packages: ## Install the Debian package in bare roots of Debian 12 and 13, and use it (as root)
	@scripts/test-packages

check: ## Formats, lints and unit tests: three minutes
	@scripts/test format c shell python clippy unit

test: ## What CI checks: lints, tests, proofs, policies in a live kernel, the pages in a browser: 15 minutes
	@scripts/test

test-all: ## Everything, with more inputs, policies and kernels: two hours
	@scripts/test --all

soak: ## Run policies in live kernels under loads that disturb them: out/soak/soak.md
	@lab/soak/run

bench: ## Run all benchmarks (recording: as root); print times and their ratio to the baseline or the last run
	@lab/bench/run

play-and-sim: ## Play workloads in virtual machines, simulate them, compare: out/play-and-sim/table.md
	@lab/play-and-sim/run

fmt: ## Format Rust, C, Ipanema and Python sources
	@scripts/need rust cc elf
	@scripts/need linters
	cargo fmt --all
	find runtime lab crates/ipanema/tests/native -name '*.[ch]' -exec out/tools/linters/clang_format/data/bin/clang-format -i {} +
	out/tools/linters/bin/ruff check --quiet --fix . $$(git grep -lE '^#!.*python3')
	out/tools/linters/bin/ruff format --quiet . $$(git grep -lE '^#!.*python3')
	cargo run --locked --quiet -p hearth-sched -- fmt policies/*.ipa policies/cookbook/*.ipa

docs: ## Build the book: docs/book/index.html
	@scripts/docs

clean: ## Remove everything that was built, downloaded or recorded
	cargo clean
	rm -rf out docs/book docs/.cache web/out web/node_modules editors/vscode/out editors/vscode/node_modules editors/tree-sitter-ipanema/test/target
