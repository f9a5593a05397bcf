from prefect.client.schemas.objects import State, StateType

from bife_core.errors import ConfigError
from bife_core.sandbox import WorkerFailure
from tasks.policy import is_infrastructure, stored_under, text_digest


def key(name="score", version=1, **parts):
    return stored_under(name, version, lambda given: given)(None, parts)


def failed(error):
    return is_infrastructure(None, None, State(type=StateType.FAILED, data=error))


def test_equal_parts_give_equal_keys_whatever_their_order():
    assert key(a=1, b=[2, "x"]) == key(b=[2, "x"], a=1)


def test_name_version_and_every_part_count():
    keys = {key(a=1), key(a=2), key(b=1), key(a=1, version=2), key(a=1, name="other")}
    assert len(keys) == 5


def test_keys_are_fit_for_file_names():
    assert key(a="../../etc/passwd\0 é").replace("-", "").isalnum()


def test_texts_of_any_kind_have_a_digest():
    assert text_digest("") != text_digest("\ud800") != text_digest("x")


def test_only_disk_network_and_lost_workers_are_tried_again():
    assert failed(ConnectionResetError())
    assert failed(OSError("disk full"))
    assert failed(WorkerFailure("died", "gone"))
    assert failed(WorkerFailure("error", "disk full", "", "OSError", by_machine=True))
    assert not failed(WorkerFailure("error", "refused", "", "RuleError"))
    assert not failed(WorkerFailure("timeout", "slow"))
    assert not failed(ConfigError("no such benchmark"))
    assert not failed(ValueError())
