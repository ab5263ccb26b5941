"""Decisions and explanations as tables."""

import pytest

import podwright as pw
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
