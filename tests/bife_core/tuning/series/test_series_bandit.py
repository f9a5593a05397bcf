from bife_core.tuning.series.bandit import choose_arm

ARMS = ["default", "good", "bad"]


def played(means, solves, seed=0, costs=()):
    """Return the costs of a series with these arms, made up: as the means say, and a tenth more or less in turn."""
    costs = list(costs)
    for number in range(solves):
        arm = choose_arm(list(means), costs, seed)[0]
        costs.append((arm, means[arm] * (1.1 if number % 2 else 0.9)))
    return costs


def share(costs, arm):
    return sum(name == arm for name, _ in costs) / len(costs)


def test_each_arm_comes_once_and_the_first_one_first():
    assert [arm for arm, _ in played(dict.fromkeys(ARMS, 1.0), 3)] == ARMS


def test_what_costs_least_solves_most_instances():
    for seed in range(5):
        assert share(played({"default": 1.0, "good": 0.4, "bad": 1.6}, 50, seed), "good") > 0.7


def test_a_jump_in_the_data_is_noticed_and_what_was_before_forgotten():
    for seed in range(5):
        before = played({"default": 1.0, "good": 0.4, "bad": 1.6}, 25, seed)
        after = played({"default": 0.7, "good": 1.8, "bad": 1.6}, 50, seed, before)[25:]
        assert share(after[25:], "default") > share(after[25:], "good")
        assert share(after[25:], "default") > 0.6


def test_the_draw_depends_on_costs_and_seed_alone():
    costs = played({"default": 1.0, "good": 0.95, "bad": 1.05}, 5)
    assert choose_arm(ARMS, costs, 3) == choose_arm(ARMS, costs, 3)
    assert len({choose_arm(ARMS, costs, seed)[0] for seed in range(50)}) > 1


def test_an_arm_that_is_gone_is_not_chosen_and_a_new_one_is_tried():
    costs = played({"default": 1.0, "good": 0.2, "bad": 1.6}, 10)
    assert choose_arm(["default", "bad"], costs, 0)[0] in ("default", "bad")
    assert choose_arm([*ARMS, "new"], costs, 0) == ("new", "it was not tried yet")
    assert choose_arm(["default"], costs, 0)[0] == "default"


def test_costs_that_do_not_differ_are_no_trouble():
    assert choose_arm(ARMS, [(arm, 0.5) for arm in ARMS], 0)[0] in ARMS
