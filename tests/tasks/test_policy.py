from prefect.client.schemas.objects import State, StateType

from bife_core.errors import ConfigError
from bife_core.sandbox import WorkerFailure
from tasks.states import is_infrastructure


def failed(error):
    return is_infrastructure(None, None, State(type=StateType.FAILED, data=error))


def test_only_disk_network_and_lost_workers_are_tried_again():
    assert failed(ConnectionResetError())
    assert failed(OSError("disk full"))
    assert failed(WorkerFailure("died", "gone"))
    assert failed(WorkerFailure("error", "disk full", "", "OSError", by_machine=True))
    assert not failed(WorkerFailure("error", "refused", "", "RuleError"))
    assert not failed(WorkerFailure("timeout", "slow"))
    assert not failed(ConfigError("no such benchmark"))
    assert not failed(ValueError())
