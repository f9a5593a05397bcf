"""Studies: searches that run from where their events end, in a notebook as in a Prefect flow."""

from bife_core.run.observer import Observer as Observer, SearchState as SearchState
from bife_core.run.study.archive import archived as archived
from bife_core.run.study.engine import SearchOutcome as SearchOutcome
from bife_core.run.study.identity import content_of as content_of
from bife_core.run.study.journal import Journal as Journal, JournalError as JournalError, Opened as Opened
from bife_core.run.study.study import Study as Study, create_study as create_study
