#!/usr/bin/env bash
# A model of Pydantic with NaN or an infinity, written as JSON and read again: one would expect the number, or an error.
# Seen with Pydantic 2.14.4: model_dump_json writes null, where model_dump(mode="json") keeps the number. A field that
# may be None then is None without a word; another is refused. ser_json_inf_nan="constants" keeps both.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pydantic==2.14.4
cat > seen.py <<'PY'
import pydantic


class Plain(pydantic.BaseModel):
    number: float | None


class Constants(Plain, ser_json_inf_nan="constants"):
    pass


print("Pydantic", pydantic.VERSION)
for kind in (Plain, Constants):
    for number in (float("nan"), float("inf")):
        made = kind(number=number)
        text = made.model_dump_json()
        print(kind.__name__, made.model_dump(mode="json"), text, "read again", kind.model_validate_json(text).number)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
Pydantic 2.14.4
Plain {'number': nan} {"number":null} read again None
Plain {'number': inf} {"number":null} read again None
Constants {'number': nan} {"number":NaN} read again nan
Constants {'number': inf} {"number":Infinity} read again inf
SEEN
