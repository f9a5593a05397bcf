"""A model API that outlives every kill and counts the answers it gave."""

import hashlib
import json
import random
import threading
import time
from collections import defaultdict

from tests.support.model_answers import completion, good_answer
from tests.support.model_api import CLIENT_REQUEST, ModelApi, Said

_RULES = 10_000


class PaidApi(ModelApi):
    """Answers every request with a rule that depends on the request alone, after a time drawn from `seed`.

    `answered` has, by request, the Unix times at which it came and its answer had left the server whole, each time.
    """

    def __init__(self, seed):
        super().__init__()
        self.answered = defaultdict(list)
        self._request = threading.local()
        self._rng = random.Random(seed)

    def take(self, path, headers, body):
        """Return the answer to a request, when its time has come."""
        self._request.came_unix_s = time.time()
        request = _name(headers.get(CLIENT_REQUEST, "")) or json.dumps(body["messages"])
        with self._lock:
            pause_s = self._rng.uniform(0.1, 0.8)
        time.sleep(pause_s)
        number = int(hashlib.sha256(request.encode()).hexdigest(), 16) % _RULES
        return Said(200, completion(good_answer(number)))

    def deliver(self, request):
        """Take note that an answer has left whole."""
        # Two requests for a first rule read the same, so only their names tell them apart.
        if name := _name(request):
            with self._lock:
                self.answered[name].append((self._request.came_unix_s, time.time()))

    def again(self):
        """Return the requests that were answered more than once, with their times."""
        return {request: times for request, times in self.answered.items() if len(times) > 1}


def _name(request):
    """Return a request without the number of the try: the second try is what must not happen."""
    return request.rpartition(".")[0]
