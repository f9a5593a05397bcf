#!/usr/bin/env bash
# `scipy.stats.wilcoxon` of differences with ties and zeros, as those of nodes or seconds in ticks: one would expect that
# method="exact" is exact, or refuses them, and that "auto" is exact for 39 differences. Seen with SciPy 1.17.1: "exact" is
# of data without ties or zeros, without a word (0.64 for 0.375 with zeros); "auto" is approximate with ties from 14
# differences on, twelve times the true p-value here, and does not say so. "Counted" goes over all signs.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
cat > seen.py <<'PY'
import numpy
import scipy


def counted(differences):
    """Return the two-sided p-value over all signs (Pratt's ranks); twice the ranks are integers, so sums are counted."""
    ranks = (2 * scipy.stats.rankdata(numpy.abs(differences))).astype(int)[differences != 0]
    signs = numpy.sign(differences[differences != 0])
    ways = numpy.zeros(ranks.sum() + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:], ways[:rank] = (ways[rank:] + ways[:-rank]) / 2, ways[:rank] / 2
    smaller = min(ranks[signs > 0].sum(), ranks[signs < 0].sum())
    return min(1.0, 2 * ways[: smaller + 1].sum())


print("SciPy", scipy.__version__)
draw = numpy.random.default_rng(0)
drawn = [sample[sample != 0] for sample in (draw.integers(-2, 5, size) for size in (12, 14, 20, 50))]
samples = {f"{len(sample)} with ties": sample for sample in drawn}
samples["8, three of them 0"] = numpy.array([0, 0, 0, 1, 2, 3, 4, -5])
for name, sample in samples.items():
    values = [scipy.stats.wilcoxon(sample, zero_method="pratt", method=method).pvalue for method in ("auto", "exact", "asymptotic")]
    values = [f"{value:.2g}" for value in (*values, counted(sample))]
    print("{}: auto {}, exact {}, asymptotic {}, counted {}".format(name, *values))
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
SciPy 1.17.1
11 with ties: auto 0.35, exact 0.37, asymptotic 0.32, counted 0.35
13 with ties: auto 0.0085, exact 0.0081, asymptotic 0.01, counted 0.0085
17 with ties: auto 0.92, exact 0.96, asymptotic 0.92, counted 0.94
39 with ties: auto 2.7e-06, exact 2.6e-07, asymptotic 2.7e-06, counted 2.3e-07
8, three of them 0: auto 0.38, exact 0.64, asymptotic 0.31, counted 0.38
SEEN
