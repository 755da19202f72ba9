# The only entry points.  `make setup` is what gitcp needs to run; whatever needs more installs it.
PYTHON = python3
PY = .venv/bin/python
TOOLS = .venv/.tools
CODE = gitcp tests bench contrib demo mutate conftest.py
SOURCES = $(shell find gitcp -name '*.py' -o -name '*.json' -o -name '*.sh' -o -path '*/assets/*')
# Whoever has it set would have every worker compile all of the tests at each run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup generate format check test test-plain test-mac stress fuzz soak spark mutate recall carry bench bench-long bench-real demo picture dist git-suite html man vscode test-vscode

setup: .venv/.stamp

.venv/.stamp: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PY) -m pip install -q -e .
	touch $@

# What tests and checks are made with.
$(TOOLS): .venv/.stamp
	$(PY) -m pip install -q -e '.[dev]'
	touch $@

# bin/, lists of commands and summaries, from gitcp/commands.py.
generate:
	.ci/generate

format: $(TOOLS)
	$(PY) -m ruff check -q --fix .
	$(PY) -m ruff format .

check: $(TOOLS) man
	.ci/generate --check
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy $(CODE)
	$(PY) -m pytest -q -n auto tests/form

man:
	@if command -v mandoc >/dev/null; then mandoc -Tlint -Wwarning man/*; \
	else echo 'mandoc is not installed: the pages are not checked'; test -z "$$CI"; fi

# A choice of all tests but the form, which `make check` tries; ALL=1: all.  Whoever chooses tests by
# PYTEST_ADDOPTS gets no others.
test: $(TOOLS) $(if $(PYTEST_ADDOPTS),,test-plain)
	$(PY) -m pytest -q -n auto --dist worksteal \
		$(if $(PYTEST_ADDOPTS),,--ignore=tests/form $(if $(ALL),,--quick))

# With git's formats left to git alone, where most of them are read and written: objects, packs, refs,
# reflogs, the index.
PLAIN = tests/git/test_plain_run.py tests/checkpoints/store/test_store_*.py \
	tests/checkpoints/store/test_deleted_branch.py tests/link/test_commit_forms.py tests/record/stream \
	tests/record/session/test_session_states.py tests/record/snapshot/test_snapshot_repositories.py
test-plain: $(TOOLS)
	GITCP_PLAIN=1 $(PY) -m pytest -q -n auto --dist worksteal $(if $(ALL),,--quick) $(PLAIN)

# As on a Mac: no /proc, a ps of BSD's, a disk that ignores case.  TESTS: which tests.
test-mac: $(TOOLS)
	.ci/test-mac $(TESTS)

stress: $(TOOLS)
	LONG=1 $(PY) -m pytest -q -n auto tests/stress tests/guard/test_races.py tests/guard/test_edits.py \
		tests/setup/test_hook_managers.py tests/setup/test_tools_in_turns.py \
		tests/record/session/test_any_private_file.py tests/steps/rewind/test_real_clients.py \
		tests/record/snapshot/test_attribute_cases.py tests/model/test_truth.py \
		tests/model/test_staged_kinds.py

fuzz: $(TOOLS)
	LONG=1 $(PY) -m pytest -q -n auto tests/model

# Six weeks of a team in a quarter of an hour; SOAK=short takes a minute, SEED=n repeats a run.
soak: $(TOOLS)
	SOAK=$(or $(SOAK),long) $(PY) -m pytest -q -s tests/soak

# Many repositories exported on a cluster of Spark's own, which is installed for it; FLEET: how many.
build/spark/.stamp: pyproject.toml
	$(PYTHON) -m venv build/spark
	build/spark/bin/python -m pip install -q -e '.[dev,spark]'
	touch $@

spark: build/spark/.stamp
	LONG=1 FLEET=$(or $(FLEET),20) build/spark/bin/python -m pytest -q -s tests/extras/facts/test_spark.py

# FILES="gitcp/link/linking.py:97 …": these only; none: the rules in mutate/rooms.py.
mutate: $(TOOLS)
	@$(PY) -m mutate $(FILES)

# Of what was recorded, how much an import finds: gitcp-import(1) has the figures.
recall: $(TOOLS)
	mkdir -p build
	LONG=1 CI=1 $(PY) -m pytest -q -rPfE tests/extras/imports/test_recorded.py tests/extras/imports/test_originals.py \
		tests/extras/imports/test_walks.py >build/recall.txt; status=$$?; \
		grep -E '^E |: links .* of |^FAILED|passed|failed' build/recall.txt; \
		awk -F '[ ,]+' '/^walk .*links/ { a += $$4; b += $$6; c += $$8; d += $$10 } \
			END { print "walks: links " a " of " b ", lines " c " of " d }' build/recall.txt; \
		exit $$status

bench: $(TOOLS)
	$(PY) -m pytest -q bench

# REAL="<path>…": clones that are read, each in a temporary repository that borrows its objects.
bench-real: $(TOOLS)
	$(PY) -m bench.real $(REAL)

# Formatters, and files in several languages, for `make carry`.
build/carry/.stamp:
	$(PYTHON) -m venv build/carry/python
	build/carry/python/bin/pip install -q black ruff isort autopep8 yapf clang-format
	npm install --silent --no-audit --no-fund --prefix build/carry/node prettier lodash jquery \
		commander async underscore chalk@4 yargs semver
	mkdir -p build/carry/rust/src
	printf '[package]\nname = "carry"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\n%b' \
		'regex = "1"\nserde_json = "1"\nclap = "4"\nbstr = "1"\n' >build/carry/rust/Cargo.toml
	touch build/carry/rust/src/lib.rs
	cd build/carry/rust && cargo vendor -q vendor >/dev/null
	touch $@

# How often the author of a line survives.  CLONES="<path>…": histories of people, which are read.
carry: $(TOOLS) build/carry/.stamp
	$(PY) -m bench.carry $(CLONES)

# With the repositories of 100,000 files, made once and kept in the cache of the person.
bench-long: $(TOOLS)
	LONG=1 $(PY) -m pytest -q bench

# The demo is installed as a person installs it: without the tools of development.
build/demo/.stamp: pyproject.toml $(SOURCES)
	rm -rf build/demo
	$(PYTHON) -m venv build/demo
	build/demo/bin/python -m pip install -q .
	touch $@

demo: build/demo/.stamp
	build/demo/bin/gitcp demo

# The pictures of the README, made of what runs here.
picture: $(TOOLS)
	$(PY) -m demo.picture
	$(PY) -m demo.page

# The manual as HTML, with links and a search that needs no server: build/html/index.html.
html: .venv/.stamp
	@$(PY) .ci/html build/html

# The extension for VS Code, as build/vscode/gitcp.vsix; tried in a real editor by test-vscode.
vscode:
	contrib/vscode/build

test-vscode: $(TOOLS) vscode
	.ci/get-code-server
	CI=1 $(PY) -m pytest -q tests/cmd/test_vscode.py

# What a release has, of the last commit: the same bytes on every machine with these packages.
# The wheel is then installed and used where there is no checkout.
build/release/.stamp: .ci/release.txt contrib/constraints.txt
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install -q -r .ci/release.txt -c contrib/constraints.txt
	touch $@

dist: build/release/.stamp
	rm -rf build/dist build/source
	mkdir -p build/source build/dist
	git archive HEAD | tar -xf - -C build/source
	version=$$(.ci/version) && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) \
		build/release/bin/python .ci/dist build/source build/dist "$$version" "$$(git rev-parse HEAD)"
	rm -rf build/source
	PYTHON=build/release/bin/python .ci/sbom build/dist
	.ci/sums build/dist
	PYTHON=$(PYTHON) .ci/try-wheel build/dist/*.whl
	cat build/dist/SHA256SUMS

# git's own tests, with gitcp and an open session in every repository that they make: an hour.
# SCRIPTS="t75* t3404*": these alone.  GIT_SOURCE: the source of the installed git, where it is no Debian's.
git-suite: .venv/.stamp
	@.ci/git-suite $(SCRIPTS)
