from bife_core.language.features import FEATURES, GROUPS
from bife_core.search.generators.base import FeatureRange
from bife_core.search.generators.prompting import theme, themes


def ranges(*roles):
    highest = {one.index: float(one.group.role in roles) for one in FEATURES}
    return [FeatureRange(index=index, quantiles=(0.0,) * 4 + (high,)) for index, high in highest.items()]


def test_there_are_many_themes_and_each_needs_roles_of_the_table():
    assert len(themes()) >= 16
    known = {group.role for group in GROUPS}
    for roles, sentence in themes():
        assert roles
        assert roles <= known
        assert sentence.endswith((".", "?"))


def test_no_theme_comes_twice_before_all_were_drawn_and_then_their_order_is_another():
    count = len(themes())
    drawn = [theme(3, number) for number in range(2 * count)]
    assert set(drawn[:count]) == set(drawn[count:]) == {sentence for _, sentence in themes()}
    assert drawn[:count] != drawn[count:]
    assert drawn == [theme(3, number) for number in range(2 * count)]
    assert drawn[:count] != [theme(4, number) for number in range(count)]


def test_a_theme_of_features_that_are_constant_on_the_benchmark_is_left_out():
    rows = ranges("activity", "size")
    drawn = {theme(0, number, rows) for number in range(len(themes()))}
    assert drawn == {sentence for roles, sentence in themes() if roles <= {"activity", "size"}}
    assert theme(0, 0, ranges()) in {sentence for _, sentence in themes()}  # all constant: nothing to go by
