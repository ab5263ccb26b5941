"""What the elements compute, by their modules in Node."""

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on PATH")

PICTURES = Path(__file__).parents[2] / "src/podwright/online/ui/pictures"

LABELS = {"zone": "a", "tier": "web", "spot": ""}


@pytest.fixture
def modules():
    """Call an expression with the modules `m` of some names, in Node."""

    def call(names, expression, *arguments):
        listed = ", ".join(f"import('{(PICTURES / name).as_uri()}.js')" for name in names)
        script = (
            f"const m = Object.assign({{}}, ...await Promise.all([{listed}]));"
            f"console.log(JSON.stringify(await ({expression})(...{json.dumps(arguments)})));"
        )
        options = ["--no-warnings", "--experimental-default-type=module"]
        command = ["node", *options, "--input-type=module", "--eval", script]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        return json.loads(found.stdout)

    return call


@pytest.mark.parametrize(
    ("expression", "is_match"),
    [
        pytest.param("", True, id="an empty expression matches all"),
        pytest.param("zone=a", True, id="equal"),
        pytest.param("zone==b", False, id="not equal"),
        pytest.param("zone!=b", True, id="another value"),
        pytest.param("rack!=b", True, id="an absent label is not equal"),
        pytest.param("zone in (b, a)", True, id="one of the values"),
        pytest.param("rack notin (a)", True, id="an absent label is in no set"),
        pytest.param("zone notin (a,b),tier", False, id="every part counts"),
        pytest.param("spot", True, id="a label with an empty value exists"),
        pytest.param("!spot", False, id="the label exists"),
        pytest.param("spot=", True, id="an empty value"),
    ],
)
def test_a_label_expression_selects_as_kubectl_does(modules, expression, is_match):
    found = modules(
        ["data/selector"],
        "(text, labels) => m.matches(m.parseSelector(text), labels)",
        expression,
        LABELS,
    )
    assert found is is_match


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        pytest.param("zone in (a", ") is missing", id="an open parenthesis"),
        pytest.param("a,,b", "comma", id="an empty part"),
        pytest.param("zone a", "zone a: expected KEY", id="no operator"),
        pytest.param("zone=<b>", "<b> is not a label value", id="no label value"),
    ],
)
def test_a_wrong_label_expression_says_what_is_expected(modules, expression, part):
    message = modules(
        ["data/selector"],
        "(text) => { try { m.parseSelector(text); return ''; } catch (e) { return e.message; } }",
        expression,
    )
    assert part in message


@pytest.mark.parametrize("count", [1, 61, 5_000])
def test_each_cell_of_a_heat_map_is_found_where_it_is_drawn(modules, count):
    missed, width = modules(
        ["parts/heat_layout"],
        """(count) => {
          const all = Array.from({ length: count }, (_, slot) => slot);
          const groups = [
            { title: "a", slots: all.slice(0, count / 3) },
            { title: "b", slots: all.slice(count / 3) },
          ];
          const layout = m.heatLayout(groups, 540, 600);
          const missed = [];
          layout.blocks.forEach(({ slots }, block) => slots.forEach((slot, index) => {
            const [x, y] = m.edgeOf(layout, { block, index });
            const found = m.cellAt(layout, x + 1, y + 1);
            const at = found && layout.blocks[found.block].slots[found.index];
            if (at !== slot) missed.push(slot);
          }));
          return [missed, layout.columns * layout.cellPx];
        }""",
        count,
    )
    assert missed == []
    assert width <= 540


def test_arrow_keys_reach_each_cell_of_a_heat_map_and_stay_inside(modules):
    visited = modules(
        ["parts/heat_layout"],
        """() => {
          const groups = [
            { title: "a", slots: [0, 1, 2, 3, 4] },
            { title: "b", slots: [5, 6, 7] },
          ];
          const layout = m.heatLayout(groups, 120, 500);
          let cell = { block: 0, index: 0 };
          const right = [];
          for (let step = 0; step < 10; step++) {
            right.push(layout.blocks[cell.block].slots[cell.index]);
            cell = m.neighbor(layout, cell, "ArrowRight");
          }
          let up = { block: 1, index: 2 };
          for (let step = 0; step < 10; step++) up = m.neighbor(layout, up, "ArrowUp");
          return [right, up.block];
        }""",
    )
    assert visited == [[0, 1, 2, 3, 4, 5, 6, 7, 7, 7], 0]


MATRIX = {
    "pod": "default/web",
    "node": "n2",
    "nodes": ["n1", "n2", "n3", "n4"],
    "results": [
        {"kind": "passed", "code": "", "reasons": []},
        {"kind": "rejected", "code": "Unschedulable", "reasons": ["Insufficient cpu"]},
        {"kind": "notEvaluated", "code": "", "reasons": []},
    ],
    "preFilter": None,
    "filters": [
        {"plugin": "NodeName", "applies": False, "results": []},
        {"plugin": "NodeResourcesFit", "applies": True, "results": [0, 0, 1, 2]},
    ],
    "rejectedBy": [None, None, "NodeResourcesFit", None],
    "scores": [
        {
            "plugin": "Fit",
            "weight": 2,
            "raw": [1, 9, None, None],
            "normalized": [10, 90, None, None],
            "weighted": [20, 180, None, None],
        },
        {
            "plugin": "Zone",
            "weight": 1,
            "raw": [5, 1, None, None],
            "normalized": [100, 20, None, None],
            "weighted": [100, 20, None, None],
        },
    ],
    "skippedScores": [],
    "totals": [120, 200, None, None],
    "winners": [1],
}


def test_the_rows_of_a_matrix_are_in_order_of_their_results(modules):
    assert modules(["parts/matrix_rows"], "(matrix) => m.rowOrder(matrix)", MATRIX) == [1, 0, 2, 3]


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (0, "n2 is 80 points ahead of n1: Fit +160, Zone -80."),
        (1, "n2 was chosen."),
        (2, "n3 was rejected by NodeResourcesFit: Insufficient cpu."),
        (3, "n4 was not evaluated: enough feasible nodes had been found before."),
    ],
)
def test_a_matrix_says_why_a_node_was_not_chosen(modules, node, sentence):
    assert modules(["parts/matrix_rows"], "(...a) => m.whyNot(...a)", MATRIX, node) == sentence


def test_a_matrix_names_the_nominated_node_as_the_reason(modules):
    matrix = MATRIX | {"notExaminedReason": "nominatedNodeFits"}
    assert modules(["parts/matrix_rows"], "(...a) => m.whyNot(...a)", matrix, 3) == (
        "n4 was not evaluated: the nominated node, which is evaluated first, passes every filter."
    )


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 500, "500m"),
        ("cpu", 0, "0"),
        ("cpu", 16_000, "16"),
        ("cpu", 1_500, "1.5"),
        ("memory", 17_179_869_184, "16Gi"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_written_as_quantities(modules, resource, value, text):
    assert modules(["parts/format"], "(...a) => m.amountText(...a)", resource, value) == text


@pytest.mark.parametrize(
    "time", ["2026-11-21T19:38:52.535454058Z", "1969-12-31T23:59:59.5Z", "2026-11-21T19:38:52Z"]
)
def test_times_keep_their_nanoseconds(modules, time):
    assert modules(["parts/format"], "(text) => m.timeText(m.timeNs(text))", time) == time


def test_a_time_of_day_is_that_of_the_reader_with_utc_at_hand(modules, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    call = "(time) => [m.clockText(time), m.clockText(time, 3), m.utcText(time)]"
    assert modules(["parts/format"], call, "2026-11-21T19:38:52.535454058Z") == [
        "01:08:52",
        "01:08:52.535",
        "2026-11-21 19:38:52 UTC",
    ]


@pytest.mark.parametrize(
    ("begin", "times", "shown"),
    [
        pytest.param(0, [0, 10, 20, 100], 6, id="a pause before the first change is cut"),
        pytest.param(0, [0, 1, 100], 0, id="a short pause stays"),
        pytest.param(0, [0, 0], 0, id="nothing happens"),
    ],
)
def test_the_axis_begins_where_something_happens(modules, begin, times, shown):
    call = """(beginNs, times) => {
        const timeline = { timesNs: BigInt64Array.from(times.map(BigInt)) };
        return Number(m.axisBegin({ beginNs: BigInt(beginNs), timeline }, 100n));
    }"""
    assert modules(["parts/time_marks"], call, begin, times) == shown


@pytest.mark.parametrize(
    ("color", "only", "slots"),
    [
        ("reason", "NodeResourcesFit: Insufficient cpu", [1, 2]),
        ("reason", "NodeResourcesFit: Insufficient memory", [2]),
        ("reason", "passes every filter", [0]),
        ("cpu", "20%", [0]),
        ("cpu", "0%", [1, 2]),
    ],
)
def test_a_class_of_the_legend_selects_its_nodes(modules, color, only, slots):
    call = f"""(columns, color, only) => {{
        const state = ({STATE})(columns);
        const fit = "NodeResourcesFit: Insufficient cpu";
        const reasons = new Map([["n1", ""], ["n2", fit], ["n3", fit + ", Insufficient memory"]]);
        const colors = m.coloring(color, state, new Map(), {{ reasons }}, false);
        return state.slots().filter((slot) => m.isInClass(colors, slot, only));
    }}"""
    assert modules(["parts/node_colors"], call, COLUMNS, color, only) == slots


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (119_000, "119s"),
        (200_000, "3m20s"),
        (3_600_000, "60m"),
        (4 * 3_600_000, "4h"),
        (47 * 3_600_000, "47h"),
        (77 * 3_600_000, "3d5h"),
        (7 * 86_400_000, "7d"),
        (400 * 86_400_000, "400d"),
        (760 * 86_400_000, "2y30d"),
        (2920 * 86_400_000, "8y"),
    ],
)
def test_durations_are_written_as_kubectl_does(modules, milliseconds, text):
    assert modules(["parts/format"], "(ms) => m.durationText(ms)", milliseconds) == text


@pytest.mark.parametrize(
    ("text", "toleration"),
    [
        ("dedicated", {"key": "dedicated", "operator": "Exists"}),
        ("a=b:NoSchedule", {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}),
        ("a:NoExecute", {"key": "a", "operator": "Exists", "effect": "NoExecute"}),
    ],
)
def test_tolerations_are_read_as_kubectl_writes_taints(modules, text, toleration):
    assert modules(["parts/what_if"], "(text) => m.parseToleration(text)", text) == toleration


def test_the_address_keeps_what_it_was_given(modules):
    state = {"pod": "default/web-1", "filter": "zone in (a,b),!spot", "at": "2026-01-01T00:00:00Z"}
    query = modules(["data/address"], "(state) => m.format(state)", state)
    assert query.startswith("pod=default/web-1&")
    assert modules(["data/address"], "(query) => m.parse(query)", query) == state


# What the color-blind see: matrices for linear RGB, severity 1, of Machado, Oliveira and Fernandes
# (2009), "A Physiologically-based Model for Simulation of Color Vision Deficiency".
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)


def product(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(color, vision):
    """Return the CIE L*a*b* coordinates of a color such as #00224e as seen."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    seen = [min(1, max(0, v)) for v in product(VISION[vision], linear)]
    relative = [v / white for v, white in zip(product(TO_XYZ, seen), WHITE, strict=True)]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in relative)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("vision", VISION)
def test_the_color_blind_tell_the_steps_of_the_heat_map_apart(modules, vision):
    steps = [lab(color, vision) for color in modules(["parts/palette"], "() => m.STEPS")]
    for (_, one), (_, other) in itertools.combinations(enumerate(steps), 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 7
    lightness = [step[0] for step in steps]
    assert lightness == sorted(lightness)


DIFFERENCES = """
(here, there) => {
  const place = ([pod, node, workload = ""]) => [pod, { node, workload }];
  const places = (rows) => new Map(rows.map(place));
  return m.differences(places(here), places(there));
}
"""


def test_places_are_compared_by_pod(modules):
    found = modules(
        ["parts/comparison"],
        DIFFERENCES,
        [["d/a", "n1"], ["d/b", "n1"], ["d/c", ""], ["d/here", "n1"]],
        [["d/c", "n2"], ["d/b", "n1"], ["d/a", "n2"], ["d/there", ""]],
    )
    assert found == {
        "both": 3,
        "paired": 0,
        "different": [
            {"pod": "d/a", "counterpart": "", "here": "n1", "there": "n2"},
            {"pod": "d/c", "counterpart": "", "here": "", "there": "n2"},
        ],
        "onlyHere": ["d/here"],
        "onlyThere": ["d/there"],
    }


def test_pods_of_a_workload_are_paired_in_order_of_creation(modules):
    web, job = "Deployment d/web", "Job d/job"
    found = modules(
        ["parts/comparison"],
        DIFFERENCES,
        [["d/web-z", "n1", web], ["d/web-both", "n1", web], ["d/web-a", "n2", web], ["d/x", "n1"]],
        [
            ["d/web-both", "n1", web],
            ["d/job-q", "n9", job],
            ["d/web-q", "n1", web],
            ["d/web-p", "n3", web],
            ["d/web-o", "n4", web],
        ],
    )
    assert found == {
        "both": 3,
        "paired": 2,
        "different": [
            {"pod": "d/web-a", "counterpart": "d/web-p", "here": "n2", "there": "n3"},
        ],
        "onlyHere": ["d/x"],
        "onlyThere": ["d/job-q", "d/web-o"],
    }


CURVES = """
(rows, begin, end) => {
  const fields = ["present", "allocatable/cpu", "requested/cpu", "allocatable/memory"];
  const timeline = {
    fields,
    subjects: [["node", "n"]],
    subjectIndex: new Uint32Array(rows.length),
    timesNs: BigInt64Array.from(rows, ([seconds]) => BigInt(seconds) * 1000000000n),
    fieldIndex: Uint16Array.from(rows, ([, field]) => fields.indexOf(field)),
    deltas: BigInt64Array.from(rows, ([, , delta]) => BigInt(delta)),
  };
  const second = 1000000000n;
  const curves = m.usageCurves(timeline, BigInt(begin) * second, BigInt(end) * second);
  const rounded = (at) => Math.round(at * 1000) / 1000;
  return [...curves].map(([resource, points]) => [
    resource, points.map(({ seconds, share }) => [rounded(seconds), share]),
  ]);
}
"""


def test_a_curve_has_the_share_of_all_nodes_before_and_after_each_change(modules):
    rows = [
        [100, "allocatable/cpu", 2000],
        [100, "allocatable/cpu", 2000],
        [100, "allocatable/memory", 8],
        [101, "requested/cpu", 1000],
        [103, "requested/cpu", 1000],
    ]
    [[resource, points]] = modules(["parts/comparison"], CURVES, rows, 100, 106)
    assert resource == "cpu", "nothing of the memory is requested"
    assert points[-1] == [6, 0.5]
    assert points == sorted(points)
    values = [share for _, share in points]
    assert values == sorted(values)
    assert set(values) == {0, 0.25, 0.5}


@pytest.mark.parametrize(
    ("other", "is_clock", "ranges"),
    [
        pytest.param([5, 25], True, [[0, 25], [0, 25]], id="at the same time"),
        pytest.param([100, 110], False, [[0, 20], [100, 120]], id="one after the other"),
    ],
)
def test_times_of_two_clusters_are_aligned(modules, other, is_clock, ranges):
    found = modules(
        ["parts/comparison"],
        """(one, other) => {
          const range = ([begin, end]) => ({ beginNs: BigInt(begin), endNs: BigInt(end) });
          const { isClock, ranges } = m.alignedRanges(range(one), range(other));
          return [isClock, ranges.map(({ beginNs, endNs }) => [Number(beginNs), Number(endNs)])];
        }""",
        [0, 20],
        other,
    )
    assert found == [is_clock, ranges]


@pytest.mark.parametrize(("took", "pause"), [(5, 500), (249, 500), (3000, 6000)])
def test_slow_replies_are_requested_less_often(modules, took, pause):
    assert modules(["data/model"], "(took) => m.pauseAfter(took, 500)", took) == pause


@pytest.mark.parametrize(
    ("text", "value"),
    [("4", 4), ("1.5Ki", 1536), ("500m", 0.5), ("2k", 2000), ("1E", 1e18), ("12e3", 12000)],
)
def test_the_value_of_a_quantity(modules, text, value):
    assert modules(["parts/format"], "(text) => m.quantityValue(text)", text) == value


def _partitioned_card():
    """Return the slices of a card of two parts, which two halves share, and one without parts."""
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 2}
    head = {"driver": "gpu.example.com", "nodeName": "n", "pool": pool}

    def consuming(name, parts):
        taken = {"counterSet": "card", "counters": {"parts": {"value": parts}}}
        return {"name": name, "consumesCounters": [taken]}

    counters = [{"name": "card", "counters": {"parts": {"value": "2"}}}]
    devices = [consuming("card", "2"), consuming("half-0", "1"), consuming("half-1", "1")]
    return [
        {"spec": head | {"sharedCounters": counters}},
        {"spec": head | {"devices": [*devices, {"name": "other"}]}},
    ]


@pytest.mark.parametrize(
    ("allocated", "more", "free"),
    [
        pytest.param((), {}, ["card", "half-0", "half-1", "other"], id="nothing is allocated"),
        pytest.param(("card",), {}, ["other"], id="the card leaves no half"),
        pytest.param(
            ("half-0",), {}, ["half-1", "other"], id="a half leaves the other, not the card"
        ),
        pytest.param(
            ("card",),
            {"adminAccess": True},
            ["half-0", "half-1", "other"],
            id="by an administrator",
        ),
    ],
)
def test_a_device_is_free_only_if_its_counters_suffice(modules, allocated, more, free):
    results = [
        {"driver": "gpu.example.com", "pool": "n", "device": name} | more for name in allocated
    ]
    claim = {
        "metadata": {"namespace": "default", "name": "c"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    found = modules(
        ["parts/node_devices"],
        "(slices, claims) => m.deviceRows(slices, claims)"
        ".filter(({ isFree }) => isFree).map(({ name }) => name)",
        _partitioned_card(),
        [claim],
    )
    assert found == free


SEND = """async (lines) => {
    const found = [];
    const { signal } = new AbortController();
    const take = ({ done }) => found.push(done);
    globalThis.fetch = async () => new Response(lines.map((line) => line + "\\n").join(""));
    const last = await new m.HttpSource("", "").lines("/lines", {}, take, signal)
        .catch((error) => error.message);
    return [found, last];
}"""


def test_the_last_line_of_a_reply_is_its_result(modules):
    lines = ['{"done": 1, "total": 2}', '{"done": 2, "total": 2}', '{"summary": {}}']
    assert modules(["data/http_source"], SEND, lines) == [[1, 2], {"summary": {}}]


def test_the_detail_of_the_last_line_is_the_error(modules):
    assert modules(["data/http_source"], SEND, ['{"detail": "it broke"}']) == [[], "it broke"]


AVAILABLE = "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 Insufficient cpu."


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (f"{AVAILABLE} no new claims.", "Insufficient cpu on 3 of 4 nodes (and 1 more reason)"),
        ("0/1 nodes are available: 1 Too many pods.", "Too many pods on the only node"),
        (
            "0/9 nodes are available: 9 node(s) didn't match Pod's node affinity/selector. more",
            "Didn't match Pod's node affinity/selector on all 9 nodes",
        ),
        ("Gated by Quota: waits", "Gated by Quota: waits"),
    ],
)
def test_the_first_cause_of_a_message_is_in_words(modules, message, cause):
    assert modules(["parts/cause"], "(text) => m.causeOf(text)", message) == cause


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("NodeAdd", "a node is added"),
        ("AssignedPodDelete", "a pod on a node is deleted"),
        ("NodeUpdateNodeTaint", "taints of a node change"),
        ("UnschedulablePodUpdatePodScaleDown", "this pod reduces its requests"),
        ("storage.k8s.io/CSINodeUpdate", "a CSINode changes"),
        ("*", "any event"),
        ("OwnLabel", "OwnLabel"),
    ],
)
def test_an_event_of_the_queue_is_in_words(modules, label, text):
    assert modules(["parts/cause"], "(label) => m.eventText(label)", label) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Web", {"labels": "", "fields": "", "text": "web"}),
        ("app=web", {"labels": "app=web", "fields": "", "text": ""}),
        ("app in (a, b)", {"labels": "app in (a, b)", "fields": "", "text": ""}),
        ("-l app!=web run", {"labels": "app!=web", "fields": "", "text": "run"}),
        (
            "--field-selector spec.nodeName=a -l tier",
            {"labels": "tier", "fields": "spec.nodeName=a", "text": ""},
        ),
    ],
)
def test_a_filter_has_selectors_as_kubectl_takes_them(modules, text, found):
    assert modules(["data/resources"], "(text) => m.parseFilter(text)", text) == found


STATE = """(columns) => ({
    names: ["n1", "n2", "n3"], fields: Object.keys(columns), slots: () => [0, 1, 2],
    column: (field) => columns[field] ?? [] })"""
COLUMNS = {
    "unschedulable": [0, 0, 0],
    "allocatable/cpu": [4000, 4000, 4000],
    "requested/cpu": [1000, 0, 0],
    "requested/pods": [1, 0],
}
AFTER = f"""(columns, question, reply, body) => {{
    const before = ({STATE})(columns);
    const answer = m.QUESTIONS[question].answer(reply, body);
    const after = m.stateAfter(before, answer.nodes);
    const values = Object.keys(columns).map((field) => [field, Array.from(after.column(field))]);
    return {{ ...answer, nodes: [...answer.nodes], after: Object.fromEntries(values),
        share: m.shareText(before, after) }};
}}"""


def test_the_cluster_after_capacity_has_the_pods_that_fit(modules):
    reply = {
        "spec": {"podRequirements": [{"resources": {"primaryResources": {"cpu": "1500m"}}}]},
        "status": {
            "replicas": 3,
            "nodes": 3,
            "failReason": {"failType": "Unschedulable", "failMessage": "0/3 nodes"},
            "pending": {"scheduled": 0, "unscheduled": 1},
            "pods": [
                {
                    "replicasOnNodes": [
                        {"nodeName": "n1", "replicas": 1},
                        {"nodeName": "n2", "replicas": 2},
                    ],
                    "replicasInZones": {"a": 1, "b": 2},
                    "failSummary": [{"reason": "Insufficient cpu", "count": 3}],
                }
            ],
        },
    }
    body = modules(["parts/plan"], "() => m.QUESTIONS.capacity.body({ cpu: '1500m' }, null)")
    assert body["pods"][0]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1500m"}}
    found = modules(["parts/plan"], AFTER, COLUMNS, "capacity", reply, body)
    assert found["findings"] == [
        "3 more pods fit, on 2 nodes of 3.",
        "The next one does not fit: Insufficient cpu on 3 nodes.",
        "By zone: a 1, b 2.",
        "1 pending pod of the cluster fits nowhere.",
    ]
    assert found["after"]["requested/cpu"] == [2500, 3000, 0]
    assert found["after"]["requested/pods"] == [2, 2, 0]
    assert found["share"] == "Requested of all nodes: cpu 8% → 46%."
    assert found["apply"]["create"][0]["spec"]["replicas"] == 3
    labels = found["apply"]["create"][0]["spec"]["template"]["metadata"]["labels"]
    assert labels == found["apply"]["create"][0]["spec"]["selector"]["matchLabels"]


def test_the_cluster_after_drains_has_the_pods_elsewhere(modules):
    move = {"pod": "default/web", "node": "n1", "to": "n3", "requests": {"cpu": 1000}}
    step = {"nodes": ["n1"], "moves": [move], "seconds": 30, "waitsFor": [], "gone": []}
    blocked = {"node": "n2", "budgets": ["default/db"], "pods": ["default/db-0"], "remedy": "wait"}
    reply = {
        "steps": [
            step | {"localData": ["default/web"], "protected": ["default/web"], "pending": []}
        ],
        "blocked": [blocked | {"message": ""}],
        "isComplete": False,
    }
    found = modules(["parts/plan"], AFTER, COLUMNS, "drain", reply, {})
    assert found["findings"] == [
        "1 of 2 nodes can be drained; 0 pods find no node.",
        "1 pod loses its local data: default/web.",
        "1 pod asks autoscalers not to evict it: default/web.",
    ]
    assert found["after"]["requested/cpu"] == [0, 0, 1000]
    assert found["after"]["requested/pods"] == [0, 0, 1]
    assert found["after"]["unschedulable"] == [1, 0, 0]
    roles = {name: change["role"] for name, change in found["nodes"]}
    assert roles == {"n1": "drained in step 1", "n2": "blocked", "n3": "gets pods"}
    assert found["apply"]["drains"] == [["n1"]]
    assert [table["title"] for table in found["tables"]] == ["Steps", "Blocked"]
