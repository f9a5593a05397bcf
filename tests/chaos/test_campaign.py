"""What the campaign counts as lost in flight, and what as paid twice."""

import pytest

from bife_core.store import Store
from tests.chaos import remains
from tests.chaos.campaign import in_flight


@pytest.mark.parametrize(
    ("came", "left", "lost"),
    [
        (99.0, 99.9, True),  # it may not have been on disk when the kill began
        (99.0, 99.5, False),  # it was
        (99.9, 100.2, True),  # while the processes were being found
        (100.3, 100.9, True),  # sent to a process that was dead by then
        (100.5, 100.9, False),  # a request of the next process
    ],
)
def test_a_call_is_in_flight_from_its_request_until_its_answer_is_on_disk(came, left, lost):
    assert in_flight((came, left), [(50.0, 50.1), (100.0, 100.4)], 0.25) is lost


def test_a_solve_that_the_store_has_is_counted_and_the_first_stays(tmp_path):
    remains.prepare(tmp_path)
    for key, nodes in (("a", 1), ("b", 2), ("a", 3)):
        Store(tmp_path).put_solve(key, {"nodes": nodes})
    assert remains.repeated_solves(tmp_path) == 1
    assert Store(tmp_path).get_solve(["a"]) == {"a": {"nodes": 1}}
