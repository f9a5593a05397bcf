"""What calls cost, what they may cost, how they are stored, and that a killed process leaves books that balance."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from bife_core.base.errors import ConfigError, GeneratorError, StoreError
from bife_core.run.config import BudgetConfig
from bife_core.search import SampleRequest
from bife_core.search.generators.account import (
    BudgetReachedError,
    Spending,
    reached,
    recorded_calls,
    used_shares,
)
from bife_core.search.generators.base import Draft, PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.model_settings import ModelApiSettings
from bife_core.search.generators.openai_compatible import OpenAIGenerator
from tests.support import journals
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi
from tests.support.stored import account_at

PRICES = {"price_in": "0.10", "price_out": "0.30"}
CALL_USD = (1000 * Decimal("0.10") + 200 * Decimal("0.30")) / 1_000_000


def call(key="g00-c00", **changes):
    known = {"model": MODEL, "prompt_digest": "d", "status": "ok", "answer": "an answer"}
    return journals.call(key, **known | {"prompt_tokens": 10, "completion_tokens": 5} | changes)


def generator(api, calls, budget, over=False, **settings):
    chosen = {"base_url": api.base_url, "model": MODEL, "timeout_s": 5.0} | PRICES | settings
    account = account_at(calls, budget, lambda: over)
    return OpenAIGenerator(GeneratorConfig(), account, ModelApiSettings.model_validate(chosen))


def ask_for(writer, count):
    def one(number):
        asked = SampleRequest(id=f"g00-c{number:02d}", generation=0, operator="i1", seed=number)
        try:
            return writer.generate(asked, PromptContext(benchmark="toys"))
        except BudgetReachedError as error:
            return error

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(one, range(count)))


def test_sums_are_exact_to_the_last_fraction_of_a_cent():
    spent = Spending.of([call(cost_usd=Decimal("0.0000001"))] * 1000)
    assert spent.cost_usd == Decimal("0.0001")
    assert (spent.calls, spent.tokens) == (1000, 15_000)


@pytest.mark.parametrize(
    ("limit", "spent", "word"),
    [
        ({"calls": 3}, {"calls": 3}, "budget.calls is used up: 3 of 3 calls"),
        ({"tokens": 30}, {"prompt_tokens": 20, "completion_tokens": 10}, "budget.tokens"),
        ({"usd": 0.1}, {"cost_usd": Decimal("0.1")}, "usd is used up: 0.1 of 0.1 US dollars"),
    ],
)
def test_a_limit_is_reached_at_its_value_and_says_so(limit, spent, word):
    budget = BudgetConfig.model_validate(limit)
    assert word in str(reached(budget, Spending.model_validate(spent)))
    assert reached(budget, Spending()) is None
    assert reached(BudgetConfig(), Spending.model_validate(spent)) is None


def test_shares_of_a_budget_are_those_of_its_limits():
    budget, spent = BudgetConfig(usd=2.0, hours=4.0, tokens=10), Spending(calls=5, cost_usd=Decimal("1.6"))
    assert used_shares(budget, spent, 9.0, 3600.0) == {"tokens": 0.0, "usd": 0.8, "hours": 0.25}
    assert used_shares(BudgetConfig(), spent, 9.0, 3600.0) == {}


def test_calls_under_way_together_never_exceed_their_limit(tmp_path):
    with ModelApi(delay_s=0.05) as api:
        writer = generator(api, tmp_path, BudgetConfig(calls=7))
        outcomes = ask_for(writer, 20)
        assert len(api.requests) == 7
        assert sum(isinstance(outcome, Draft) for outcome in outcomes) == 7
        # What was answered is given without a call, and a higher limit goes on.
        raised = generator(api, tmp_path, BudgetConfig(calls=9))
        assert sum(isinstance(outcome, Draft) for outcome in ask_for(raised, 20)) == 9
        assert len(api.requests) == 9


@pytest.mark.parametrize("limit", [{"usd": float(3 * CALL_USD)}, {"tokens": 3600}])
def test_money_and_tokens_exceed_their_limit_by_what_is_under_way_only(tmp_path, limit):
    with ModelApi(delay_s=0.05) as api:
        writer = generator(api, tmp_path, BudgetConfig.model_validate(limit))
        outcomes = [outcome for _ in range(6) for outcome in ask_for(writer, 4)]
        assert any(isinstance(outcome, Draft) for outcome in outcomes)
    assert 3 <= len(api.requests) <= 3 + 15
    assert len(api.requests) == writer.account.spending().calls
    assert writer.account.spending().cost_usd == len(api.requests) * CALL_USD


@pytest.mark.parametrize("missing", ["price_in", "price_out"])
def test_a_limit_on_money_without_prices_is_refused_before_any_call(tmp_path, missing):
    with ModelApi() as api, pytest.raises(ConfigError, match="BIFE_LLM_PRICE_IN and BIFE_LLM_PRICE_OUT"):
        generator(api, tmp_path, BudgetConfig(usd=1), **{missing: ()})
    assert api.requests == []


def test_an_interrupted_call_is_counted_as_one_whose_tokens_are_unknown(tmp_path):
    account = account_at(tmp_path, BudgetConfig(calls=1))
    sent = account.begin(call(answer=None, prompt_tokens=0, completion_tokens=0))
    assert (account.spending().calls, account.spending().unknown) == (1, 1)
    with pytest.raises(BudgetReachedError):
        account.begin(call())
    account.finish(call().model_copy(update={"number": sent.number}))
    assert (account.spending().unknown, account.spending().tokens) == (0, 15)


def test_no_call_goes_out_after_the_time(tmp_path):
    with ModelApi() as api:
        (end,) = ask_for(generator(api, tmp_path, BudgetConfig(hours=1), over=True), 1)
    assert isinstance(end, BudgetReachedError)
    assert "hours is used up" in str(end)
    assert not api.requests


def stored(account, *calls):
    """Begin calls and finish them."""
    begun = [one.model_copy(update={"number": account.begin(one).number}) for one in calls]
    for one in begun:
        account.finish(one)
    return begun


def test_calls_come_back_as_they_were_stored_in_order(tmp_path):
    account = account_at(tmp_path)
    b1, a, b2 = stored(account, call(key="b"), call(key="a"), call(key="b", status="error", answer="\ud83d"))
    assert account.calls() == recorded_calls(tmp_path) == [a, b1, b2]
    assert account.calls("b") == [b1, b2]


def test_the_latest_answer_to_exactly_the_same_request_is_found(tmp_path):
    account = account_at(tmp_path)
    stored(account, call(answer="first"), call(answer="second"), call(status="error", answer=None))
    assert account.answer("g00-c00", "d", model=MODEL, temperature=None).answer == "second"
    for key, digest, model, temperature in (
        *(("g00-c01", "d", MODEL, None), ("g00-c00", "e", MODEL, None)),
        *(("g00-c00", "d", "other", None), ("g00-c00", "d", MODEL, 0.5)),
    ):
        assert account.answer(key, digest, model=model, temperature=temperature) is None


@pytest.mark.parametrize("text", ["", "[]", '{"key": "g00-c00"}', "\0"])
def test_a_damaged_file_is_named_in_one_sentence(tmp_path, text):
    (tmp_path / "g00-c00.001.json").write_text(text)
    with pytest.raises(GeneratorError, match=r"g00-c00\.001\.json") as caught:
        recorded_calls(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_number_is_given_once_however_many_ask(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda _: account_at(tmp_path).begin(call()).number, range(24)))
    assert sorted(given) == list(range(1, 25))


def test_a_directory_that_cannot_be_written_to_makes_no_call(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("in the way")
    with ModelApi() as api, pytest.raises(StoreError, match="cannot be written"):
        generator(api, taken / "calls", BudgetConfig())
    assert api.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.long)])
def test_the_books_balance_after_every_kill(tmp_path, kills):
    count = 24
    with ModelApi(delay_s=0.05) as api:
        prices = {f"BIFE_LLM_{name.upper()}": price for name, price in PRICES.items()}
        environment = os.environ | api.environment | prices
        command = [sys.executable, "-m", "tests.support.model_client", str(tmp_path), str(count)]
        for kill in range(kills):
            process = subprocess.Popen(command, env=environment)
            goal = len(api.delivered) + 3 + 2 * kill
            while len(api.delivered) < goal and process.poll() is None:
                time.sleep(0.005)
            process.kill()
            process.wait()
            assert_balanced(api, tmp_path)
        subprocess.run(command, env=environment, check=True, timeout=120)
        assert_balanced(api, tmp_path)
    answered = [found for found in account_at(tmp_path).calls() if found.status == "ok"]
    assert len({found.key for found in answered}) == len(answered) == count


def assert_balanced(api, directory):
    """Compare the calls on disk with what the server knows it sent in full."""
    account = account_at(directory)
    calls = {f"bife-{account.study}.{found.key}.{found.number}": found for found in account.calls()}
    settled = {name for name, found in calls.items() if found.status == "ok"}
    deadline = time.monotonic() + 30.0
    # The client may have written an answer down before the server's thread has said that it sent it.
    while not settled <= set(api.delivered) and time.monotonic() < deadline:
        time.sleep(0.01)
    delivered = set(api.delivered)
    assert settled <= delivered
    assert delivered - settled <= {name for name, found in calls.items() if found.status == "sent"}
    assert {request.headers["x-client-request-id"] for request in api.requests} <= set(calls)
    spent = account_at(directory).spending()
    assert (spent.calls, spent.answered) == (len(calls), len(settled))
    assert (spent.prompt_tokens, spent.completion_tokens) == (1000 * len(settled), 200 * len(settled))
    assert spent.cost_usd == (len(settled) * CALL_USD if calls else None) or not settled
