"""The database of trials: what it cannot do is an error with its path."""

from __future__ import annotations

from pathlib import Path

import pytest
from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import OperationalError

from podwright.online.sweep import SweepError
from podwright.online.sweep.tuning import tuning
from podwright.online.sweep.tuning.tests.test_tuning import document


def test_a_database_of_trials_that_cannot_be_read_is_named(tmp_path):
    database = tmp_path / "out" / "tuning.db"
    database.parent.mkdir()
    database.write_text("not a database, but a text that is longer than a header of one", "utf-8")
    plan = document(tmp_path)
    with pytest.raises(SweepError, match=r"tuning.db cannot be read or written: file is not a d"):
        tuning.tune(plan, database.parent)


def test_what_optuna_reports_of_its_database_is_named_with_its_cause():
    full = OperationalError("INSERT", {}, OSError("database or disk is full"))
    text = "t.db cannot be read or written: database or disk is full; finished runs have been kept"
    for cause, shown in ((full, text), (None, text.replace("database or disk is full", "lost"))):
        with pytest.raises(SweepError, match=f"^{shown}$"), tuning._writing(Path("t.db")):
            raise StorageInternalError("lost") from cause
