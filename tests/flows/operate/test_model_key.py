"""The key of a model API in a Secret block of Prefect's: used for every call, and shown nowhere."""

import json

import pytest

from bife_flows.reporting.conductor import KEY_BLOCK
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.operating import smoke

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

KEY = "sk-kept-in-a-block-of-prefect"


@pytest.fixture
def block(operated):
    """A Secret block made as on Prefect's page."""
    client = operated.page.client
    kind = client.get("/block_types/slug/secret").raise_for_status().json()["id"]
    asked = {"block_schemas": {"block_type_id": {"any_": [kind]}}}
    schema = client.post("/block_schemas/filter", json=asked).raise_for_status().json()[0]["id"]
    about = {"name": KEY_BLOCK, "block_type_id": kind, "block_schema_id": schema}
    made = client.post("/block_documents/", json=about | {"data": {"value": KEY}}).raise_for_status().json()
    yield made
    client.delete(f"/block_documents/{made['id']}").raise_for_status()


@pytest.fixture
def api(operated):
    """A model API that takes one key only, known to the home by its address."""
    settings = operated.home.root / "mlflow.env"
    with ModelApi(key=KEY) as served:
        settings.write_text(f"BIFE_LLM_BASE_URL={served.base_url}\nBIFE_LLM_MODEL={MODEL}\n")
        yield served
    settings.unlink()


def test_a_search_uses_the_key_in_the_block_and_nothing_shows_it(operated, block, api):
    config = smoke(generator="openai", samples=3)
    ended = operated.page.end_well("search", config=config)
    assert "is the best of 3 rules" in ended["state"]["message"]
    assert len(api.requests) >= 3
    assert {request.scene for request in api.requests} == {"good"}

    assert KEY not in json.dumps(ended)
    assert KEY not in json.dumps(block)
    logged = operated.page.logs(ended["id"])
    assert logged
    assert KEY not in logged
    files = [path for path in operated.home.root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "best_rule.py" for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
