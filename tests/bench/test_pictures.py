"""A picture of the documentation is known to be older than its page once a file changes of which that is made."""

import shutil

import pytest

from bench import pictures
from tests.browser.views import VIEWS


def use(patch, folder):
    patch.setattr(pictures, "ROOT", folder)
    patch.setattr(pictures, "_TAKEN", folder / "pages.json")
    return folder


@pytest.fixture(scope="module")
def today(tmp_path_factory):
    """A copy of the files of which pages are made, of which a note says that all pictures are of today."""
    folder = tmp_path_factory.mktemp("pages")
    for source in {"constraints.txt", *(file for files in pictures.PAGES.values() for file in files)}:
        (folder / source).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pictures.ROOT / source, folder / source)
    with pytest.MonkeyPatch.context() as patch:
        use(patch, folder)
        assert len([*pictures.outdated()]) == len(pictures.PAGES)
        for picture in pictures.PAGES:
            pictures.taken(picture)
        assert [*pictures.outdated()] == []
    return folder


@pytest.fixture
def copy(today, tmp_path, monkeypatch):
    return use(monkeypatch, shutil.copytree(today, tmp_path / "pages"))


@pytest.mark.parametrize(
    ("source", "older"),
    [
        ("flows/bife_flows/promotion.py", ["prefect-approval"]),
        ("bife_core/registry/evidence.py", ["prefect-approval", "mlflow-model"]),
        ("bife_core/run/show/report/templates/report.css", ["report"]),
    ],
)
def test_a_changed_source_makes_pictures_old_until_they_are_retaken(copy, source, older):
    text = (copy / source).read_text()
    (copy / source).write_text(f"# a comment\n{text}\nCHANGED = 1\n")
    sentences = [*pictures.outdated()]
    assert [sentence.partition(" is older than ")[0] for sentence in sentences] == [
        f"docs/images/{picture}.png" for picture in older
    ]
    assert all(source in sentence for sentence in sentences)
    pictures.taken(older[0])
    assert len([*pictures.outdated()]) == len(older) - 1


def test_a_comment_changes_no_page_and_a_new_server_does(copy):
    for source in copy.glob("**/promotion.py"):
        source.write_text(f"# a comment\n{source.read_text()}")
    assert [*pictures.outdated()] == []
    pins = (copy / "constraints.txt").read_text()
    (copy / "constraints.txt").write_text(pins.replace("prefect==", "prefect==1"))
    old = [*pictures.outdated()]
    assert len(old) == sum(picture.startswith("prefect-") for picture in pictures.PAGES)
    assert "is older than prefect; retake it by `make screenshots VIEWS=prefect-" in old[0]


def test_each_view_says_what_its_page_is_made_of_and_each_picture_is_there():
    assert pictures.PAGES.keys() == {view.name for view in VIEWS if not view.name.startswith("mlflow-first")}
    assert [name for name in pictures.PAGES if not (pictures.IMAGES / f"{name}.png").is_file()] == []
