"""Decisions and explanations as tables."""

from typing import Any

import pytest
from pyarrow import parquet

import podwright as pw
from podwright.scheduler.framework import (
    Code,
    Decision,
    Explanation,
    FilterExplanation,
    ScoreExplanation,
    Status,
)
from podwright.simulation.recording.folders import tables
from podwright.testing import make_node, make_pod


@pytest.fixture
def scheduler():
    scheduler = pw.Scheduler()
    scheduler.add(
        make_node("small", cpu="2"), make_node("large", cpu="8"), make_node("huge", cpu="32")
    )
    return scheduler


def test_decisions_are_one_row_each(scheduler):
    scheduler.add(make_pod("web", cpu="16"), make_pod("batch", cpu="64"))
    columns = tables.to_columns(scheduler.schedule_all())
    assert columns["name"] == ["web", "batch"]
    assert columns["node"] == ["huge", None]
    assert columns["message"][1].startswith("0/3 nodes are available: 3 Insufficient cpu.")


def test_an_explanation_is_one_row_per_node_and_plugin(scheduler):
    columns = tables.to_columns(scheduler.explain(make_pod("web", cpu="4")))
    rows = list(zip(*columns.values(), strict=True))
    fit = [row[:6] for row in rows if row[1:3] == ("filter", "NodeResourcesFit")]
    assert fit == [
        (
            "small",
            "filter",
            "NodeResourcesFit",
            "rejected",
            "UnschedulableAndUnresolvable",
            "Insufficient cpu",
        ),
        ("large", "filter", "NodeResourcesFit", "passed", None, None),
        ("huge", "filter", "NodeResourcesFit", "passed", None, None),
    ]
    assert ("small", "filter", "NodePorts", "did not apply", None, None) in [
        row[:6] for row in rows
    ]
    scored = [row for row in rows if row[1] == "score"]
    assert all(row[9] == row[7] * row[8] for row in scored)


def test_arrow_gets_types_also_when_nothing_is_there(scheduler):
    table = pw.to_arrow([])
    assert table.schema.field("score").type == "int64"
    assert pw.to_arrow(scheduler.explain(make_pod("web"))).num_rows > 0


def test_a_frame_has_integers_also_where_values_are_missing(scheduler):
    scheduler.add(make_pod("web", cpu="4"), make_pod("batch", cpu="64"))
    frame = pw.to_pandas(scheduler.schedule_all())
    assert frame["name"].tolist() == ["web", "batch"]
    assert frame["node"][0] in {"large", "huge"}
    assert frame.isna()[["node", "score"]].to_numpy().tolist() == [[False, False], [True, True]]
    assert frame["score"].dtype == frame["feasible"].dtype == "Int64"
    explained = pw.to_pandas(scheduler.explain(make_pod("api", cpu="4")))
    best = explained.groupby("node")["weighted"].sum().idxmax()
    assert scheduler.explain(make_pod("api", cpu="4")).winners == (best,)
    assert pw.to_pandas([]).empty


def test_a_missing_library_is_named_with_the_command(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(tables, "import_module", missing)
    with pytest.raises(pw.PodwrightError, match=r"pip install 'podwright\[tables\]'"):
        pw.to_arrow([])
    with pytest.raises(pw.PodwrightError, match="pip install pandas"):
        pw.to_pandas([])


def test_several_explanations_are_one_row_per_score(scheduler):
    explanations = [scheduler.explain(make_pod(name, cpu="4")) for name in ("web", "batch")]
    columns = tables.to_columns(explanations)
    rows = list(zip(*columns.values(), strict=True))
    assert list(columns) == [
        *("pod", "attempt", "node", "plugin"),
        *("raw", "normalized", "weight", "weighted"),
    ]
    assert rows == [
        (
            explanation.pod.key,
            explanation.attempt,
            node,
            scores.plugin,
            raw,
            scores.normalized[node],
            scores.weight,
            scores.normalized[node] * scores.weight,
        )
        for explanation in explanations
        for scores in explanation.scores
        for node, raw in scores.raw.items()
    ]
    assert {row[:3] for row in rows} >= {("default/web", 0, "huge"), ("default/batch", 0, "large")}
    assert pw.to_arrow(explanations).num_rows == len(rows)


# ------------------------------------------------------------------------------ given rows


def test_the_columns_of_decisions_have_all_their_parts():
    placed = Decision(
        pod=make_pod("p", namespace="x"),
        node="n1",
        feasible_count=3,
        evaluated_count=4,
        tie_count=2,
        total=90,
    )
    failed = Decision(pod=make_pod("q"), error=Status.error("broken"))
    assert tables.to_columns([placed, failed]) == {
        "namespace": ["x", "default"],
        "name": ["p", "q"],
        "node": ["n1", None],
        "score": [90, None],
        "feasible": [3, 0],
        "evaluated": [4, 0],
        "ties": [2, 0],
        "message": ["", "broken"],
    }
    assert (
        tables.to_columns(iter([]))
        == tables.to_columns([])
        == {
            name: []
            for name in (
                *("namespace", "name", "node", "score", "feasible", "evaluated", "ties", "message"),
            )
        }
    )
    with pytest.raises(pw.PodwrightError, match="an explanation, several, decisions or a run"):
        tables.to_columns(3)  # type: ignore[arg-type]


CPU = Status(Code.UNSCHEDULABLE, ("Insufficient cpu", "Too many pods"), "Fit")
EXPLAINED = Explanation(
    pod=make_pod("p"),
    decision=Decision(pod=make_pod("p"), node="n1"),
    node_names=("n1", "n2", "n3"),
    pre_filter=Status(),
    skipped_filters=frozenset({"Ports"}),
    not_examined=("n3",),
    filters=(
        FilterExplanation(plugin="Fit", applies=True, rejected={"n2": CPU}),
        FilterExplanation(plugin="Ports", applies=False),
    ),
    scores=(
        ScoreExplanation(plugin="Spread", weight=2, raw={"n1": 7}, normalized={"n1": 35}),
        ScoreExplanation(plugin="Image", weight=1, raw={"n1": 0}, normalized={"n1": 0}),
    ),
    attempt=4,
)


def test_the_columns_of_an_explanation_have_all_their_parts():
    columns = tables.to_columns(EXPLAINED)
    names = [
        *("node", "point", "plugin", "answer", "code"),
        *("reasons", "raw", "normalized", "weight", "weighted"),
    ]
    assert list(columns) == names
    none = (None,) * 4
    assert list(zip(*columns.values(), strict=True)) == [
        ("n1", "filter", "Fit", "passed", None, None, *none),
        (
            *("n2", "filter", "Fit", "rejected", "Unschedulable"),
            *("Insufficient cpu; Too many pods", *none),
        ),
        ("n3", "filter", "Fit", "not examined", None, None, *none),
        ("n1", "filter", "Ports", "did not apply", None, None, *none),
        ("n2", "filter", "Ports", "did not apply", None, None, *none),
        ("n3", "filter", "Ports", "not examined", None, None, *none),
        ("n1", "score", "Spread", "scored", None, None, 7, 35, 2, 70),
        ("n1", "score", "Image", "scored", None, None, 0, 0, 1, 0),
    ]
    assert tables.to_columns([EXPLAINED]) == {
        "pod": ["default/p"] * 2,
        "attempt": [4, 4],
        "node": ["n1", "n1"],
        "plugin": ["Spread", "Image"],
        "raw": [7, 0],
        "normalized": [35, 0],
        "weight": [2, 1],
        "weighted": [70, 0],
    }


TEXTS, NUMBERS = "string", "int64"


@pytest.mark.parametrize(
    ("source", "types"),
    [
        ([], [TEXTS] * 3 + [NUMBERS] * 4 + [TEXTS]),
        (EXPLAINED, [TEXTS] * 6 + [NUMBERS] * 4),
        ([EXPLAINED], [TEXTS, NUMBERS, TEXTS, TEXTS] + [NUMBERS] * 4),
    ],
)
def test_every_column_has_its_type(source, types):
    assert [str(kind) for kind in tables.to_arrow(source).schema.types] == types
    frame = tables.to_pandas(source)
    assert [str(kind) == "Int64" for kind in frame.dtypes] == [kind == NUMBERS for kind in types]


class Results:
    """A run with tables."""

    def __init__(self, **named):
        self.tables = named


def test_the_table_of_a_run_is_the_one_of_its_pods():
    types = {"pod": "name", "seconds": "float", "attempts": "int"}
    waits = tables.arrow_table(types, {"pod": ["a"], "seconds": [1.5], "attempts": [2]})
    assert tables.to_arrow(Results(waits=waits)) is waits
    frame = tables.to_pandas(Results(waits=waits))
    assert [str(kind) for kind in frame.dtypes][1:] == ["float64", "Int64"]
    assert frame.to_dict("list") == {"pod": ["a"], "seconds": [1.5], "attempts": [2]}
    with pytest.raises(pw.PodwrightError, match="an explanation, several, decisions or a run"):
        tables.to_columns(Results(other=waits))


ROWS: dict[str, list[Any]] = {
    "at": [1_000_000_001, 2_000_000_000],
    "count": [1, -2],
    "maybe": [None, 3],
    "share": [0.5, 1.0],
    "name": ["a", None],
    "text": ["x", "y"],
}
TYPES = {
    "at": "time", "count": "int", "maybe": "maybe", "share": "float", "name": "name",
    "text": "text",
}  # fmt: skip


def test_a_table_has_the_types_of_its_columns_and_its_rows_back_as_lists(tmp_path):
    # Columns may come in any order; the types have theirs.
    table = tables.arrow_table(TYPES, dict(sorted(ROWS.items())))
    assert {field.name: str(field.type) for field in table.schema} == {
        "at": "timestamp[ns, tz=UTC]",
        "count": "int64",
        "maybe": "int64",
        "share": "double",
        "name": "dictionary<values=string, indices=int32, ordered=0>",
        "text": "string",
    }
    assert tables.to_lists(table) == ROWS
    path = tmp_path / "table.parquet"
    path.write_bytes(tables.parquet_bytes(table))
    assert tables.to_lists(tables.read_parquet(path)) == ROWS
    assert compressions(path) == {"ZSTD"}


def compressions(path):
    metadata = parquet.ParquetFile(path).metadata
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    return {group.column(0).compression for group in groups}


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 9])
def test_rows_are_written_in_groups_of_a_size_however_they_are_added(tmp_path, monkeypatch, size):
    monkeypatch.setattr(tables, "_ROW_GROUP", 4)
    contents = set()
    for step in (1, 2, 100):
        path = tmp_path / f"{step}.parquet"
        with path.open("wb") as file:
            rows = tables.ParquetRows({"n": "int", "t": "name"}, file)
            for start in range(0, size, step):
                numbers = [*range(start, min(start + step, size))]
                rows.add({"n": numbers, "t": [str(number) for number in numbers]})
            rows.close()
        contents.add(path.read_bytes())
        expected = {"n": [*range(size)], "t": [str(number) for number in range(size)]}
        assert tables.to_lists(tables.read_parquet(path)) == expected
        metadata = parquet.ParquetFile(path).metadata
        groups = [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)]
        assert groups == [4] * (size // 4) + ([size % 4] if size % 4 else [])
        assert compressions(path) <= {"ZSTD"}
    assert len(contents) == 1


def test_a_group_has_65_536_rows(tmp_path):
    with (tmp_path / "rows.parquet").open("wb") as file:
        rows = tables.ParquetRows({"n": "int"}, file)
        rows.add({"n": range(65_537)})
        rows.close()
    metadata = parquet.ParquetFile(tmp_path / "rows.parquet").metadata
    groups = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    assert groups == [65_536, 1]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("a", "a"),
        ("error_backoff", "errorBackoff"),
        ("in flight pods", "inFlightPods"),
        ("", ""),
    ],
)
def test_names_of_fields_in_documents(words, name):
    assert tables.camel_case(words) == name


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ("tables", "'podwright[tables]', or do without tables: --no-tables"),
        ("reports", "'podwright[reports]'"),
    ],
)
def test_pyarrow_that_is_missing_is_named_with_what_to_do(monkeypatch, extra, text):
    tables.require_arrow(extra)
    monkeypatch.setattr(tables, "find_spec", {}.get)
    with pytest.raises(tables.MissingExtra) as error:
        tables.require_arrow(extra)
    assert str(error.value) == (
        f"tables need pyarrow, which is not installed; install it with: pip install {text}"
    )
    if extra == "tables":
        with pytest.raises(tables.MissingExtra, match=r"--no-tables$"):
            tables.arrow_table(TYPES, ROWS)
