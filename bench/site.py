"""Hooks of mkdocs: addresses in the repository, from pyproject.toml, for the site and its links out of docs/."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_ROOT: Final = Path(__file__).resolve().parents[1]
_PROJECT: Final = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_REPOSITORY: Final = _PROJECT["urls"]["Repository"]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link to the repository; not as `repo_url`, for which the reader's browser would ask GitHub's API."""
    config.edit_uri = f"{_REPOSITORY}/edit/main/docs/"
    config.extra["social"] = [
        {"icon": "fontawesome/brands/github", "link": _REPOSITORY, "name": "Repository"}
    ]
    return config


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Let links to what is no page, such as code, lead to the repository, if it is there."""
    folder = (Path(config.docs_dir) / page.file.src_uri).parent

    def address(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve()
        if not path.exists() or (path.is_file() and path.is_relative_to(config.docs_dir)):
            return link[0]
        return f"]({_REPOSITORY}/blob/main/{path.relative_to(_ROOT)})"

    return re.sub(r"\]\(([\w./-]+)\)", address, markdown)
