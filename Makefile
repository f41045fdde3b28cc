# Hearth. `make` lists what can be made; every target installs what it needs and lacks.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo build web bpf install test test-kernels bench play-and-sim lint fmt docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: web ## Record a real ./configure here; predict it for the papers' machines; write out/report.html
	@scripts/demo

build: web ## Build the hearth binary: target/release/hearth
	@scripts/need rust cc elf
	cargo build --locked --release -p hearth-sched

web: ## Build the viewer's page, which the hearth binary takes in: web/dist
	@scripts/web

bpf: ## Compile the built-in policies and the recorder for the kernel: target/bpf/NAME.bpf.o
	@scripts/bpf

PREFIX ?= /usr/local
install: build bpf ## Install hearth, what it needs to run policies, and its systemd unit, below PREFIX
	@scripts/install "$(DESTDIR)" "$(PREFIX)"

test: ## Everything that CI checks: format, lints, tests, policies in a live kernel, licences
	@scripts/test

test-kernels: ## Try the policies in every kernel with sched_ext that can be had
	@KERNELS=all scripts/test kernels

bench: ## Measure the simulator (events per second) and, as root, what recording costs
	@scripts/need rust cc elf
	cargo bench --locked -p hearth-sim
	@experiments/recording/overhead

play-and-sim: ## Play workloads in virtual machines, simulate the same, compare: out/play-and-sim/table.md
	@scripts/play-and-sim

lint: ## Format and lints only
	@scripts/test format shell python clippy

fmt: ## Put Rust and Ipanema sources into the common format
	@scripts/need rust cc elf
	cargo fmt --all
	cargo run --locked --quiet -p hearth-sched -- fmt policies/*.ipa

docs: ## Build the book: docs/book/index.html
	@scripts/docs

clean: ## Remove everything that was built, downloaded or recorded
	cargo clean
	rm -rf out docs/book docs/.cache web/dist web/out web/node_modules
