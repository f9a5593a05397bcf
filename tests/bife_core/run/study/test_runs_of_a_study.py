"""`search` as a notebook uses it: a dozen lines, resumable, with any search, and with workers or without."""

import shutil

import pytest

import bife_core
from bife_core.run.study import JournalError
from bife_core.run.study.journal import Completed, Samples
from bife_core.search.answers import Answered
from bife_core.search.generators import Draft
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.store import DATABASE
from tests.bife_core.run.study.conftest import outcome, small, with_solves_of
from tests.support.stored import counts, entries_of, forget_events


def kinds(folder):
    return [entry.kind for entry in entries_of(folder)]


def settled(folder):
    """Return the samples as the events of a search alone tell of them, whatever code of its own it has."""
    samples = Samples()
    for entry in entries_of(folder):
        samples.read(entry)
    return tuple(samples[name] for name in sorted(samples))


def test_a_search_ends_with_a_rule_and_its_files(whole, data):
    assert len(whole.samples) == 5
    assert whole.best is not None
    assert whole.best.f_hf == max(s.f_hf for s in whole.samples if s.f_hf is not None)
    assert len(whole.best_solves) == 2
    assert whole.ended_by is None
    names = {path.name for path in whole.folder.iterdir()}
    assert {DATABASE, "best_rule.py", "samples.json", "search_cost.json"} <= names
    assert bife_core.load_rule(str(whole.folder / "best_rule.py")).sha == whole.best.sha
    assert settled(whole.folder) == whole.samples
    assert (kinds(whole.folder)[:2], kinds(whole.folder)[-1]) == (["opened", "started"], "ended")
    assert entries_of(whole.folder)[0].origin == small().origin_of_rules
    served = {mark: one.split for mark, one in bife_core.Store(whole.folder).served().items()}
    recorded = dict.fromkeys(data["decisions"].digests, "collection")
    assert served == dict.fromkeys((one.digest for one in data["instances"]), "design") | recorded


def test_a_second_call_does_nothing_again(whole, data):
    before = counts(whole.folder)
    seen = []
    study = bife_core.create_study(small(), **data, folder=whole.folder)
    again = study.run(callbacks=[lambda _, state: seen.append(state)])
    assert counts(whole.folder) == before
    assert (outcome(again), again.best, again.cost) == (outcome(whole), whole.best, whole.cost)
    assert [state.samples_total for state in seen] == [summary.samples_total for summary in whole.generations]
    then = [entry.elapsed_s for entry in entries_of(whole.folder) if isinstance(entry, Completed)]
    assert [state.elapsed_s for state in seen] == then
    assert all(state.replayed for state in seen)


@pytest.mark.parametrize("share", [0.1, 0.45, 0.8, 0.99])
def test_a_search_cut_anywhere_ends_as_if_it_had_not_been(share, whole, data, tmp_path):
    assert any(sample.eliminated for sample in whole.samples)
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    forget_events(tmp_path, share)
    solved = counts(tmp_path)["solves"]
    resumed = bife_core.create_study(small(), **data, folder=tmp_path).run()
    assert (outcome(resumed), resumed.generations) == (outcome(whole), whole.generations)
    assert settled(tmp_path) == resumed.samples
    answers = [kinds(folder).count("answered") for folder in (tmp_path, whole.folder)]
    assert answers[0] == answers[1], "nothing is asked twice"
    assert counts(tmp_path)["solves"] == solved, "no solve is done twice"


def test_a_search_that_ended_is_extended_and_repeats_nothing(whole, data, tmp_path):
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    more = bife_core.create_study(small(search__samples=7), **data, folder=tmp_path).run()
    assert (len(whole.samples), len(more.samples)) == (5, 7)
    assert outcome(more)[:5] == outcome(whole)
    written = [entry for entry in entries_of(tmp_path) if isinstance(entry, Answered) and not entry.high]
    assert len(written) == 2 * 7, "each rule has one draft and one score"
    assert [kind for kind in kinds(tmp_path) if kind in ("started", "ended")] == ["started", "ended"] * 2
    folder = with_solves_of(tmp_path, tmp_path / "at once")
    at_once = bife_core.create_study(small(search__samples=7), **data, folder=folder).run()
    assert [sample.sha for sample in at_once.samples] == [sample.sha for sample in more.samples]
    before = counts(tmp_path)
    fewer = bife_core.create_study(small(), **data, folder=tmp_path).run()
    assert outcome(fewer) == outcome(whole), "as it was"
    assert counts(tmp_path) == before


@pytest.mark.parametrize("method", ["symbolic", "llm4branch"])
def test_any_registered_search_runs(method, data, soon_solved, tmp_path):
    few = {"training_instances": 1, "tuning_instances": 1}
    few |= dict.fromkeys(("tuning_calls", "tuning_initial", "islands"), 2)
    options = few if method == "llm4branch" else {}
    config = small(search__algorithm=method, search__samples=3, search__initial=2, search__options=options)
    training = soon_solved if options is few else []
    arguments = {**data, "instances": soon_solved, "training": training}
    result = bife_core.create_study(config, **arguments, folder=tmp_path).run()
    assert result.best is not None
    again = bife_core.create_study(config, **arguments, folder=tmp_path).run()
    assert (outcome(again), again.cost) == (outcome(result), result.cost)
    assert (settled(tmp_path), again.new) == (result.samples, False)


def test_a_folder_belongs_to_one_search(whole, data):
    with pytest.raises(JournalError, match="holds another search"):
        bife_core.create_study(small(search__seed=1), **data, folder=whole.folder).run()


class Stubborn:
    """Writes one rule after the other, and fails once on the way."""

    name = "stubborn"

    def __init__(self, fails_at, as_method=False):
        self.fails_at, self.as_method, self.asked = fails_at, as_method, []

    def generate(self, request, benchmark):
        self.asked.append(request.id)
        if len(self.asked) == self.fails_at:
            raise MemoryError("The notebook's machine is small.")
        number = int(request.id[1:3]) * 10 + int(request.id[-2:])
        source = f"def candidate_variable_score(f):\n    return f[24] + {number} * f[18]\n"
        if self.as_method:
            source = RuleMethod(name="mine", source=source).model_dump_json()
        return Draft(thought="One more.", source=source)


def test_what_a_generator_writes_is_a_rule_and_never_another_method(data, tmp_path):
    generator = Stubborn(None, as_method=True)
    result = bife_core.create_study(small(), **data, generator=generator, folder=tmp_path).run()
    assert result.best is None
    assert len(result.samples) == len(generator.asked) > 0
    assert all("Line 1" in (sample.failure or "") for sample in result.samples)


def test_a_generator_of_ones_own_and_an_error_on_the_way(data, soon_solved, tmp_path):
    data = {**data, "instances": soon_solved}

    def run(generator, folder):
        return bife_core.create_study(small(), **data, generator=generator, folder=tmp_path / folder).run()

    undisturbed, second = run(Stubborn(None), "calm"), Stubborn(None)
    with pytest.raises(MemoryError):
        run(Stubborn(5), "run")
    resumed = run(second, "run")
    assert outcome(resumed) == outcome(undisturbed)
    assert len(second.asked) < 5
