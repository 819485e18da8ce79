# What people and CI call, nothing else. The recipes of any length are in .ci/.

WIRE = target/release/wire

.PHONY: demo home test check rtl bench fuzz soak jepsen docs build install

PREFIX ?= /usr/local

demo: ## two hosts, a switch and a 1 s delay box in exact simulated time; by a build that is quick rather than its result
	@.ci/setup build
	.ci/build -p wireline-cli
	target/debug/wire lab examples/first-light/lab.toml
	@echo "This was target/debug/wire, which is not optimised. make build makes the fast one, $(WIRE): some eight minutes on two cores."

build:
	@.ci/setup build
	.ci/build --release -p wireline-cli
	.ci/strip $(WIRE)

home: ## the home router, target/release/wire-home; make install puts it next to wire
	@.ci/setup build
	.ci/build --release -p wireline-home
	.ci/strip target/release/wire-home

install: build ## the command, the papers' names for it, manual pages and completions, below PREFIX (/usr/local)
	.ci/install $(WIRE) $(PREFIX)

test: ## every check and every test
	@.ci/setup test
	$(MAKE) --no-print-directory check
	.ci/test
	.ci/examples target/debug

check: ## format, lint, purity, names of constants, licences and bans, documentation
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	.ci/purity
	.ci/circles
	.ci/names
	.ci/licences
	.ci/links
	.ci/portable
	.ci/rtl-lint

rtl: ## the blocks in Verilog: lint by three tools, claims by a solver, tests against the crates
	@.ci/setup test
	.ci/rtl-lint
	.ci/rtl-formal
	cargo test --locked -p wireline-cosim -p wireline-rtl

bench: build ## ratios against named peers, each in one run
	cargo bench --locked --workspace --bench '*'

fuzz: ## every decoder for FUZZ_SECONDS each (default 60), coverage-guided; every fault of tests/faults, every pair of tools; 10,000 sequences against each model of a queue discipline; Miri where it is
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} .ci/fuzz
	.ci/faults
	WIRE_QUEUE_SEQUENCES=10000 cargo test --locked --release -p wireline-queue --test behaviour models::
	.ci/miri

soak: ## live ports and links that flap for SOAK_SECONDS (default 600): what went in came out, or was counted
	.ci/soak

jepsen: ## a Paxos group that is killed, paused and cut for JEPSEN_SECONDS (default 600), and what its clients saw checked by porcupine; as root
	.ci/jepsen

docs: ## the book (with mdbook, if it is here), man pages and the API documentation, into target/
	.ci/docs
