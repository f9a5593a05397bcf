#!/usr/bin/env bash
# A function of Numba with cache=True that a function makes, and that calls another compiled function: one would expect
# that the second process takes it from the cache. Seen with Numba 0.68.1: it never does, says nothing, and each process
# writes one more file. One that closes over a number is taken from the cache.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check numba==0.68.1
cat > seen.py <<'PY'
import numba


@numba.njit(cache=True)
def add(x):
    return x + 1


def calling(function):
    @numba.njit(cache=True)
    def called(x):
        return 2 * function(x)

    return called


def scaling(factor):
    @numba.njit(cache=True)
    def scaled(x):
        return factor * x

    return scaled


for name, made in (("over a function", calling(add)), ("over a number", scaling(5))):
    made(3)
    print(f"{name}: from the cache {bool(made.stats.cache_hits)}")
PY
for process in 1 2 3; do
  echo "process $process, Numba $(venv/bin/python -c 'import numba; print(numba.__version__)')" && venv/bin/python seen.py
  echo "files $(ls __pycache__ | grep -c 'called.*nbc$')"
done | tee seen.txt
diff seen.txt - <<'SEEN'
process 1, Numba 0.68.1
over a function: from the cache False
over a number: from the cache False
files 1
process 2, Numba 0.68.1
over a function: from the cache False
over a number: from the cache True
files 2
process 3, Numba 0.68.1
over a function: from the cache False
over a number: from the cache True
files 3
SEEN
