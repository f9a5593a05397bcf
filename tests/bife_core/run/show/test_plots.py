"""Figures hold what they should show, and can be rendered."""

import re

import numpy as np
import pytest

from bife_core.extend.testing import World, drive
from bife_core.run.config import SearchConfig
from bife_core.run.show import plots
from bife_core.search import BifeSearch, Sample


@pytest.fixture(scope="module")
def search():
    run = BifeSearch(SearchConfig(samples=24, initial=8, population=4))
    drive(run, World(seed=2, failing=0.2, distinct=40))
    return run


def labels(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()]


def test_progress_shows_both_fidelities_and_tau(search):
    figure = plots.progress(search.summaries)
    low, high = figure.axes
    assert labels(low) == ["best", "mean of rules alive", "threshold tau"]
    assert labels(high) == ["best"]
    best, mean, tau = low.lines
    summaries = search.summaries
    assert list(best.get_xdata()) == [s.generation for s in summaries]
    assert list(best.get_ydata()) == [s.best_f_lf for s in summaries]
    assert list(mean.get_ydata()) == [s.mean_f_lf for s in summaries]
    assert list(tau.get_ydata()) == [s.tau for s in summaries]
    assert list(high.lines[0].get_ydata()) == [s.best_f_hf for s in summaries]
    assert (low.get_ylabel(), high.get_xlabel()) == ("F_LF", "generation")


def test_the_scatter_shows_the_rules_with_both_fidelities_and_names_the_best(search):
    figure = plots.fidelity_scatter(search.samples)
    (axes,) = figure.axes
    both = [c for c in search.samples if c.f_hf is not None]
    assert len(both) > 2
    points = np.asarray(axes.collections[0].get_offsets())
    assert points.tolist() == [[c.f_lf, c.f_hf] for c in both]
    first = max(both, key=lambda c: c.f_lf or 0.0)
    assert labels(axes) == ["rule", f"best F_LF: {first.id}", f"best F_HF: {search.best.id}"]


def test_instance_costs_are_ordered_by_their_ratio():
    costs = [("a", 2.0, 1.0), ("b", 2.0, 8.0), ("c", 1.0, 2.0)]
    figure = plots.instance_costs(costs, rule_label="_mine", baseline_label="RPB", unit="nodes")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "c", "b"], "greatest saving on top"
    assert labels(axes) == ["RPB", " _mine"], "matplotlib leaves labels with a leading underscore out"
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "nodes"
    assert axes.get_title() == " _mine / RPB = 0.63 (geometric mean)"
    theirs, ours = (np.asarray(collection.get_offsets()) for collection in axes.collections[1:])
    assert ours[:, 0] == pytest.approx([2.0, 1.0, 2.0])
    assert theirs[:, 0] == pytest.approx([1.0, 2.0, 8.0])


def test_the_correlation_and_the_drop_are_those_of_the_ranks():
    def rule(name, f_lf, f_hf):
        return Sample(id=name, generation=0, operator="i1", f_lf=f_lf, f_hf=f_hf)

    both = [rule("a", 0.4, -2.0), rule("b", 0.5, -1.0), rule("c", 0.6, -3.0)]
    axes = plots.fidelity_scatter(both).axes[0]
    assert "drop 200%" in [text.get_text() for text in axes.texts]
    assert axes.get_title().endswith("3 rules, rank correlation -0.50")
    assert "correlation" not in plots.fidelity_scatter(both[:1]).axes[0].get_title()
    assert labels(axes)[-1] == "best F_HF: b"
    assert labels(plots.fidelity_scatter(both, 0.45).axes[0])[-1] == "tau 0.45"


def test_the_trials_of_a_tuning_have_the_best_by_then_as_a_line():
    (axes,) = plots.trials(((10.0, 1.0, 1.0), (12.0, None, 1.0), (15.0, 0.5, 0.5), (16.0, 2.0, 0.5))).axes
    points = np.asarray(axes.collections[0].get_offsets())
    assert points[[0, 2, 3]].tolist() == [[10.0, 1.0], [15.0, 0.5], [16.0, 2.0]], "the second failed"
    best, default = axes.lines
    assert [*zip(*best.get_data(), strict=True)] == [(10.0, 1.0), (12.0, 1.0), (15.0, 0.5), (16.0, 0.5)]
    assert list(default.get_ydata()) == [1.0, 1.0]
    assert (axes.get_yscale(), labels(axes)) == ("log", ["trial", "best by then, 0.5"])


def test_an_interval_has_the_colour_of_the_finding_and_not_of_its_ends():
    rows = [("a", 0.9, 0.8, 0.98, "undecided"), ("b", 0.5, 0.4, 0.6, "better"), ("c", 2.0, 1.5, 3.0, "worse")]
    lines = plots.ratios(rows, "time").axes[0].lines
    assert [line.get_color() for line in lines[:6:2]] == ["#6E6E6E", "#009E73", "#D55E00"]


def test_a_figure_within_a_page_takes_the_colours_of_the_page(tmp_path):
    figure = plots.ratios(
        [("rule <1>", 0.5, 0.4, 0.6, "better"), ("other", 1.2, None, None, "undecided")], "time"
    )
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.5", "1.2"]
    svg = plots.inline_svg(figure, "one", 'Half of "it" <b>')
    assert svg.startswith("<svg ")
    assert 'aria-label="Half of &quot;it&quot; &lt;b&gt;"' in svg
    assert "var(--green, #009E73)" in svg
    assert "rule &lt;1&gt;" in svg
    assert set(re.findall(r'href="#([^"]+)"', svg)) <= set(re.findall(r'id="([^"]+)"', svg))
    assert all(name.startswith("one-") for name in re.findall(r' id="([^"]+)"', svg))
    files = plots.save(figure, tmp_path / "new", "one")
    assert [path.suffix for path in files] == [".png", ".svg", ".pdf"]
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in plots.save(figure, tmp_path / "new", "one")] == before


def test_steps_of_a_ratio_go_on_from_each_other():
    figure = plots.steps([("separating off", 0.4), ("LP", None), ("heuristics off", 0.5)], "ratio so far")
    (axes,) = figure.axes
    bars = [list(map(float, line.get_xdata())) for line in axes.lines[-3:]]
    assert bars == [[1.0, 0.4], [0.4, 0.4], [0.4, 0.5]]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["separating off", "not measured: LP", "heuristics off"]
