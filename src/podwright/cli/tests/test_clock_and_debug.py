"""`podwright clock` and `podwright debug`: what they request of a cluster, and what they print."""

from __future__ import annotations

import json
import shlex
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.http_servers import serving
from typer.testing import CliRunner

from podwright.cli import app


class Answers(BaseHTTPRequestHandler):
    """Answers every request with one document, and keeps the requests."""

    reply: object = None
    status = 200
    requests: list[tuple[str, str, object]]

    def do_GET(self):
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length) or b"null")
        self.requests.append((self.command, self.path, body))
        data = json.dumps(self.reply).encode()
        self.send_response(self.status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_DELETE = do_GET  # noqa: N815 - names of http.server


@pytest.fixture
def call(monkeypatch):
    """Return a function that runs a command: the requests, stdout, stderr and the status."""
    monkeypatch.setattr(Answers, "requests", [], raising=False)
    with serving(Answers) as address:

        def call(line: str, reply: object, status: int = 200):
            monkeypatch.setattr(Answers, "reply", reply)
            monkeypatch.setattr(Answers, "status", status)
            Answers.requests.clear()
            words = [*shlex.split(line), "--server", address]
            result = CliRunner().invoke(app, words, prog_name="podwright")
            return Answers.requests, result.stdout, result.stderr, result.exit_code

        yield call


def clock(**fields):
    state = {
        "time": "2030-01-01T00:00:00Z",
        "speed": 2.5,
        "isPaused": False,
        "isCaughtUp": True,
        "stoppedAt": None,
    }
    return state | fields


CLOCK = "/podwright/v1/clock"
RUNNING = "2030-01-01T00:00:00Z  2.5    running  nothing\n"


@pytest.mark.parametrize(
    ("line", "request_", "fields", "row"),
    [
        ("show", ("GET", CLOCK, None), {}, RUNNING),
        ("pause", ("POST", f"{CLOCK}/pause", {}), {"isPaused": True},
         "2030-01-01T00:00:00Z  2.5    paused  nothing\n"),
        ("resume", ("POST", f"{CLOCK}/resume", {}), {"isCaughtUp": False},
         "2030-01-01T00:00:00Z  2.5    running  being processed\n"),
        ("step 30s", ("POST", f"{CLOCK}/step", {"duration": "30s"}), {"speed": 1.0},
         "2030-01-01T00:00:00Z  1      running  nothing\n"),
        ("speed 10", ("POST", f"{CLOCK}/speed", {"speed": 10.0}), {}, RUNNING),
        ("run-to 2031-01-01T00:00:00Z",
         ("POST", f"{CLOCK}/run-to", {"time": "2031-01-01T00:00:00Z"}),
         {"isPaused": True, "stoppedAt": 3},
         "2030-01-01T00:00:00Z  2.5    at breakpoint 3  nothing\n"),
    ],
)  # fmt: skip
def test_commands_of_the_clock_send_one_request_and_print_its_state(
    call, line, request_, fields, row
):
    requests, printed, errors, status = call(f"clock {line}", clock(**fields))
    assert (requests, errors, status) == ([request_], "", 0)
    heads, shown = printed.splitlines(keepends=True)
    assert heads.split() == ["TIME", "SPEED", "STATE", "DUE"]
    assert shown == row


def test_the_clock_is_a_document_or_its_time(call):
    assert json.loads(call("clock show -o json", clock())[1]) == clock()
    assert call("clock show -o yaml", clock(speed=1.0))[1] == (
        'time: "2030-01-01T00:00:00Z"\nspeed: 1.0\nisPaused: false\nisCaughtUp: true\n'
        "stoppedAt: null\n"
    )
    assert call("clock show -o name", clock())[1] == "2030-01-01T00:00:00Z\n"


@pytest.mark.parametrize(
    ("reply", "status", "text", "code"),
    [
        ({"detail": "is in the past", "field": "time"}, 422, "time: is in the past", 2),
        ({"message": "no"}, 403, "no", 2),
        (["no object"], 499, "the cluster answered with status 499", 2),
        ({}, 500, "status 500", 3),
    ],
)
def test_a_rejected_request_is_wrong_use_and_a_failed_one_is_not(call, reply, status, text, code):
    _, *found = call("clock run-to x", reply, status)
    assert found == ["", f"error: {text}\n", code]


def test_a_server_that_ends_without_a_reply_has_failed():
    class Ends(BaseHTTPRequestHandler):
        def do_GET(self):
            self.close_connection = True

    with serving(Ends) as address:
        result = CliRunner().invoke(app, ["clock", "show", "--server", address])
    text = "cannot be reached: Remote end closed connection without response"
    assert result.stderr == f"error: {address} {text}; check that podwright up serves there\n"
    assert result.exit_code == 3


TIMINGS = {
    "isObserving": True,
    "timings": [
        {
            "profile": "default-scheduler",
            "plugin": "Own",
            "point": "Filter",
            "callCount": 4,
            "statuses": {"Success": 3, "Error": 1},
            "totalNs": 12_000,
            "longestNs": 999,
            "longestPod": "default/web",
        },
        {
            "profile": "packing",
            "plugin": "Other",
            "point": "Score",
            "callCount": 2,
            "statuses": {"Success": 2},
            "totalNs": 3_000_000_000,
            "longestNs": 2_345_678_901,
            "longestPod": "default/db",
        },
        {
            "profile": "packing",
            "plugin": "Third",
            "point": "Score",
            "callCount": 3,
            "statuses": {},
            "totalNs": 4_500_000,
            "longestNs": 1_000_000,
            "longestPod": "",
        },
    ],
}


def test_timings_are_sorted_by_the_total_time(call):
    requests, printed, errors, status = call("debug timings", TIMINGS)
    assert requests == [("GET", "/podwright/v1/plugins/timings", None)]
    assert (errors, status) == ("", 0)
    assert printed == (
        "PLUGIN  POINT   CALLS  ERRORS  TOTAL  MEAN   LONGEST  LONGEST-POD\n"
        "Other   Score   2      0       3s     1.5s   2.35s    default/db\n"
        "Third   Score   3      0       4.5ms  1.5ms  1ms\n"
        "Own     Filter  4      1       12us   3us    999ns    default/web\n"
    )
    wide = call("debug timings -o wide", TIMINGS)[1]
    assert [row.split()[:2] for row in wide.splitlines()] == [
        ["PROFILE", "PLUGIN"],
        ["packing", "Other"],
        ["packing", "Third"],
        ["default-scheduler", "Own"],
    ]
    assert call("debug timings -o name", TIMINGS)[1] == "Own/Filter\nOther/Score\nThird/Score\n"
    assert json.loads(call("debug timings -o json", TIMINGS)[1]) == TIMINGS


NOT_OBSERVED = (
    "the plugins are not observed: start the cluster with --plugin, or send "
    '{"isObserving": true} to PUT /podwright/v1/plugins/observation\n'
)


@pytest.mark.parametrize(
    ("command", "key", "text"),
    [
        ("timings", "timings", "no plugin was called\n"),
        ("failures", "failures", "no plugin has failed\n"),
    ],
)
def test_an_empty_answer_is_a_sentence_that_says_why(call, command, key, text):
    assert call(f"debug {command}", {"isObserving": True, key: []})[1:3] == ("", text)
    assert call(f"debug {command}", {"isObserving": False, key: []})[1:3] == ("", NOT_OBSERVED)


FAILURES = {
    "isObserving": True,
    "failures": [
        {
            "number": 2,
            "time": "2030-01-01T00:00:02Z",
            "pod": "default/web",
            "attempt": 3,
            "plugin": "Own",
            "point": "Filter",
            "node": "n1",
            "message": "ValueError:\n  no zone",
            "traceback": "Traceback\nValueError: no zone\n",
        },
        {
            "number": 1,
            "time": "2030-01-01T00:00:01Z",
            "pod": "shop/db",
            "attempt": 1,
            "plugin": "Own",
            "point": "PreFilter",
            "node": "",
            "message": "failed",
            "traceback": "",
        },
    ],
}


def test_failures_are_rows_with_their_nodes_and_tracebacks(call):
    requests, printed, _, status = call("debug failures --traceback", FAILURES)
    assert requests == [("GET", "/podwright/v1/plugins/failures?limit=20", None)]
    assert status == 0
    assert printed == (
        "NUMBER  TIME                  POD          ATTEMPT  PLUGIN  POINT      MESSAGE\n"
        "2       2030-01-01T00:00:02Z  default/web  3        Own     Filter     "
        "ValueError: no zone\n"
        "1       2030-01-01T00:00:01Z  shop/db      1        Own     PreFilter  failed\n"
        "\n2: pod default/web, attempt 3\nTraceback\nValueError: no zone\n"
        "\n1: pod shop/db, attempt 1\nfailed\n"
    )
    wide = call("debug failures -o wide", FAILURES)[1].splitlines()
    assert [row.split()[6] for row in wide] == ["NODE", "n1", "<all>"]
    assert call("debug failures -o name", FAILURES)[1] == "default/web\nshop/db\n"
    assert json.loads(call("debug failures -o json", FAILURES)[1]) == FAILURES


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ("--plugin Own --pod web --limit 3", "plugin=Own&pod=default%2Fweb&limit=3"),
        ("--pod shop/web", "pod=shop%2Fweb&limit=20"),
    ],
)
def test_failures_are_selected_by_the_cluster(call, options, query):
    requests, *_ = call(f"debug failures {options}", FAILURES)
    assert requests == [("GET", f"/podwright/v1/plugins/failures?{query}", None)]


def test_a_case_is_written_to_a_new_file(call, tmp_path):
    file = tmp_path / "test_web.py"
    reply = {"text": "# a test\n", "attempt": 2, "pod": "default/web"}
    requests, printed, errors, status = call(f"debug save-case web {file}", reply)
    assert requests == [("GET", "/podwright/v1/pods/default/web/case", None)]
    assert (printed, errors, status) == ("", f"{file} has attempt 2 of pod default/web\n", 0)
    assert file.read_text() == "# a test\n"
    _, _, errors, status = call(f"debug save-case web {file}", reply)
    assert (errors, status) == (f"error: {file}: cannot be written: File exists\n", 2)
    other = tmp_path / "other.py"
    requests, *_ = call(f"debug save-case shop/a%2Fb {other} --attempt 4", reply)
    assert requests == [("GET", "/podwright/v1/pods/shop/a%252Fb/case?attempt=4", None)]


BREAKPOINTS = "/podwright/v1/breakpoints"
ROWS = [
    {"number": 1, "condition": "on=error", "hitCount": 0},
    {"number": 4, "condition": "pod=default/web", "hitCount": 12},
]
TABLE = "NUMBER  CONDITION        HITS\n1       on=error         0\n4       pod=default/web  12\n"
HIT = {
    "breakpoint": 4,
    "pod": "default/web",
    "attempt": 2,
    "plugin": "Own",
    "point": "Filter",
    "message": "no zone",
}


@pytest.mark.parametrize(
    ("hit", "text"),
    [
        (None, ""),
        (HIT, "stopped at breakpoint 4: pod default/web, attempt 2, Own at Filter: no zone; "
              "podwright clock resume continues\n"),
        (HIT | {"plugin": "", "message": ""},
         "stopped at breakpoint 4: pod default/web, attempt 2; podwright clock resume continues\n"),
    ],
)  # fmt: skip
def test_breakpoints_are_rows_and_the_place_of_the_stop(call, hit, text):
    reply = {"breakpoints": ROWS, "stoppedAt": hit}
    found = call("debug breakpoints", reply)
    assert found == ([("GET", BREAKPOINTS, None)], TABLE, text, 0)
    assert json.loads(call("debug breakpoints -o json", reply)[1]) == reply
    assert call("debug breakpoints -o name", reply)[1:3] == ("1\n4\n", "")


def test_breakpoints_are_added_and_removed(call):
    found = call("debug break pod=default/web", ROWS[1])
    assert found == (
        [("POST", BREAKPOINTS, {"condition": "pod=default/web"})],
        "NUMBER  CONDITION        HITS\n4       pod=default/web  12\n",
        "",
        0,
    )
    assert call("debug break on=error -o name", ROWS[1])[1] == "4\n"
    assert json.loads(call("debug break on=error -o json", ROWS[1])[1]) == ROWS[1]
    found = call("debug unbreak 4", {"breakpoints": [], "stoppedAt": None})
    assert found == ([("DELETE", f"{BREAKPOINTS}/4", {})], "", "there are no breakpoints\n", 0)


def test_the_kubeconfig_names_the_cluster_and_its_token(call, tmp_path, monkeypatch):
    """Where it is: named, in the environment, in the current folder."""
    requests, *_ = call("clock show", clock())
    assert requests
    monkeypatch.chdir(tmp_path)
    for line in ("clock show", "debug timings"):
        result = CliRunner().invoke(app, line.split(), env={"KUBECONFIG": None})
        assert result.exit_code == 2
        assert "podwright.kubeconfig" in result.stderr
    missing = str(Path("some", "where"))
    result = CliRunner().invoke(app, ["clock", "show"], env={"KUBECONFIG": f"{missing}:other"})
    assert result.stderr.startswith(f"error: {missing}, other: ")
