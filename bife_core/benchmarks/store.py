"""A directory of generated models: each file carries the digest of its content in its name."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

from bife_core.errors import InstanceError
from bife_core.files import write_whole

_SUFFIX = ".mps.gz"


def content_digest(content: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()[:16]


def fetch(directory: Path, stem: str, build: Callable[[], str]) -> tuple[Path, str]:
    """Return the file kept as `stem`, building and writing it if it is missing or damaged.

    The file is ``<stem>.<digest>.mps.gz``. Every fetch reads it and compares its content with the digest,
    so a truncated or altered file is built anew. It is written beside its place and moved there in one
    step: processes that fill the same directory at once see whole files only, and the last of them wins
    with equal bytes.

    Parameters
    ----------
    directory : Path
        Created if it is missing.
    stem : str
        Identifies the model; must not contain a dot.
    build : callable
        Returns the text of the model; called only when needed.

    Returns
    -------
    path : Path
        The file.
    digest : str
        Digest of its uncompressed content.

    Raises
    ------
    InstanceError
        If the file cannot be written.
    """
    for path in sorted(directory.glob(f"{stem}.*{_SUFFIX}")):
        digest = path.name.removesuffix(_SUFFIX).removeprefix(f"{stem}.")
        if _content_digest_of(path) == digest:
            return path, digest
    content = build().encode("ascii")
    digest = content_digest(content)
    path = directory / f"{stem}.{digest}{_SUFFIX}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # No time stamp goes into the file: equal models are equal files.
        write_whole(path, gzip.compress(content, compresslevel=6, mtime=0))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InstanceError(f"Cannot keep the generated model {path}: {reason}.") from error
    return path, digest


def _content_digest_of(path: Path) -> str | None:
    try:
        return content_digest(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error):
        return None
