#!/usr/bin/env bash
# `mlflow server` on a port that another program has: one would expect an exit code other than 0, which a supervisor
# sees. Seen with MLflow 3.17.2: it says that the address is in use, ends, and its exit code is 0.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mlflow==3.17.2
cat > seen.py <<'PY'
import socket
import subprocess
import sys

import mlflow

print("MLflow", mlflow.__version__)
with socket.create_server(("127.0.0.1", 0)) as taken:
    port = str(taken.getsockname()[1])
    command = [sys.executable, "-m", "mlflow", "server", "--port", port, "--backend-store-uri", "sqlite:///own.db"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
print("address in use", "Address already in use" in ended.stderr + ended.stdout, "exit code", ended.returncode)
PY
venv/bin/python seen.py 2> errors.txt | tee seen.txt
diff seen.txt - <<'SEEN'
MLflow 3.17.2
address in use True exit code 0
SEEN
