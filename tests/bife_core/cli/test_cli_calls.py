from bife_core.search.generators.account import Account, request_id
from bife_core.store.home import project_home
from tests.support.journals import call


def test_calls_are_listed_and_compared_with_what_a_provider_exports(bife, monkeypatch, tmp_path):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    assert bife("calls").stdout == "No search has called a model API yet.\n"
    store = project_home().store
    store.open_study("a study", "search", "a study")
    account = Account(store, "a study")
    answered, lost = (account.begin(call(f"g00-c{number:02}")) for number in range(2))
    account.finish(answered.model_copy(update={"status": "ok", "prompt_tokens": 30, "completion_tokens": 12}))
    assert bife("calls").stdout.splitlines()[1].split()[-5:] == ["2", "1", "1", "42", "unknown"]
    ids = [request_id("a study", one) for one in (answered, lost)]
    assert ids[0] == "bife-a%20study.g00-c00.1"

    export = tmp_path / "export.csv"
    export.write_text(f'id,"client_request_id"\n7,"{ids[0]}"\n')
    assert f"1 call of 2 are in {export}." in " ".join(bife("calls", export).stdout.split())
    export.write_text(f"[{ids[1]}]")
    assert f"Answered, but not in it: {ids[0]}" in " ".join(bife("calls", export).stdout.split())
    export.write_text(f"{ids[0]}|bife-other.g00-c00.1|bife-other.g00-c00.12")
    done = bife("calls", export)
    assert done.exit_code == 1
    assert "bife-other.g00-c00.1, bife-other.g00-c00.12" in " ".join(done.stderr.split())
    export.write_bytes(f"\ufeff<id>{ids[0]}</id><usd>0.5</usd> and {ids[1]}.".encode() + b"\xe4\0")
    assert f"2 calls of 2 are in {export}." in " ".join(bife("calls", export).stdout.split())
    export.write_text("id,model\n7,m\n")
    assert "holds none" in bife("calls", export).stderr
