"""The annotations of kube-scheduler-simulator; expected values are written out by hand."""

import json

import pytest

import podwright as pw
from podwright.apimachinery.objects import timestamp_text_nano, with_fields
from podwright.scheduler.framework import PreFilterResult
from podwright.simulation.kss.annotations import kss_annotations, kss_history
from podwright.simulation.kss.results import HISTORY, PREFIX
from podwright.simulation.kss.tests.expectations import (
    PLUGIN_KEYS,
    annotations,
    history_of,
    only,
    profile,
    results,
    results_of,
)
from podwright.simulation.recording.explanations.explain import UnknownCycle
from podwright.simulation.recording.tests.recorded import recorded_log
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod

# -------------------------------------------------------------------- two nodes, one taken


def test_a_pod_with_one_feasible_node():
    recorded = Recorded(
        profiles=[
            profile(
                only(
                    preFilter=[
                        "NodeAffinity",
                        "NodeResourcesFit",
                        "PodTopologySpread",
                        "VolumeBinding",
                    ],
                    filter=["NodeUnschedulable", "NodeName", "TaintToleration", "NodeResourcesFit"],
                    preScore=["TaintToleration"],
                    score=["TaintToleration", "ImageLocality"],
                    reserve=["VolumeBinding"],
                    preBind=["VolumeBinding"],
                )
            )
        ]
    )
    recorded.put(make_node("n1", taints=["a=b:NoSchedule"]), make_node("n2"))
    recorded.attempt(make_pod("web"))
    expected = {
        "selected-node": "n2",
        "prefilter-result": "{}",
        "prefilter-result-status": (
            '{"NodeAffinity":"","NodeResourcesFit":"success","PodTopologySpread":"",'
            '"VolumeBinding":""}'
        ),
        "filter-result": (
            '{"n1":{"NodeName":"passed","NodeUnschedulable":"passed",'
            '"TaintToleration":"node(s) had untolerated taint(s)"},'
            '"n2":{"NodeName":"passed","NodeResourcesFit":"passed",'
            '"NodeUnschedulable":"passed","TaintToleration":"passed"}}'
        ),
        "postfilter-result": "{}",
        "prescore-result": "{}",
        "score-result": "{}",
        "finalscore-result": "{}",
        "reserve-result": '{"VolumeBinding":"success"}',
        "permit-result": "{}",
        "permit-result-timeout": "{}",
        "prebind-result": '{"VolumeBinding":"success"}',
        "bind-result": '{"DefaultBinder":"success"}',
    }
    found = annotations(recorded, "default/web")
    (element,) = json.loads(found.pop("result-history"))
    assert found == expected
    assert element == {PREFIX + key: value for key, value in expected.items()}


def test_the_history_is_one_text_in_the_order_of_keys():
    recorded = Recorded(profiles=[profile(only(filter=["NodeName"]))])
    recorded.put(make_node("n1"))
    recorded.attempt(make_pod("web"))
    empty = ["permit-result", "permit-result-timeout", "postfilter-result", "prebind-result"]
    empty += ["prefilter-result", "prefilter-result-status", "prescore-result", "reserve-result"]
    values = {PREFIX + key: "{}" for key in (*empty, "score-result", "finalscore-result")} | {
        f"{PREFIX}bind-result": r"{\"DefaultBinder\":\"success\"}",
        f"{PREFIX}filter-result": r"{\"n1\":{\"NodeName\":\"passed\"}}",
        f"{PREFIX}selected-node": "n1",
    }
    written = ",".join(f'"{key}":"{values[key]}"' for key in sorted(values))
    assert annotations(recorded, "default/web")["result-history"] == f"[{{{written}}}]"


# -------------------------------------------------------------------- nodes that are not evaluated


def test_a_pre_filter_result_leaves_nodes_out():
    class Mine(pw.Plugin):
        name = "Mine"

        def pre_filter(self, cycle):
            return PreFilterResult(frozenset({"n3", "n1"}))

    class Unlimited(pw.Plugin):
        name = "Unlimited"

        def pre_filter(self, cycle):
            return PreFilterResult(None)

    recorded = Recorded(
        Mine,
        Unlimited,
        profiles=[
            profile(
                only(preFilter=["Mine", "Unlimited"], filter=["NodeName"], score=["ImageLocality"])
            )
        ],
    )
    recorded.put(*(make_node(f"n{i}") for i in range(1, 4)))
    recorded.attempt(make_pod("web"))
    found = results(recorded, "default/web")
    assert found["prefilter-result"] == {"Mine": ["n1", "n3"], "Unlimited": []}
    assert found["prefilter-result-status"] == {"Mine": "success", "Unlimited": "success"}
    assert found["filter-result"].keys() == {"n1", "n3"}


def test_a_nominated_node_is_evaluated_where_a_pre_filter_result_leaves_it_out():
    class Mine(pw.Plugin):
        name = "Mine"

        def pre_filter(self, cycle):
            return PreFilterResult(frozenset({"n3"}))

    plugins = only(preFilter=["Mine"], filter=["NodeUnschedulable"])
    recorded = Recorded(Mine, profiles=[profile(plugins)])
    recorded.put(*(make_node(f"n{i}", unschedulable=True) for i in range(1, 4)))
    recorded.attempt(with_fields(make_pod("web"), "status", nominated_node_name="n1"))
    message = {"NodeUnschedulable": "node(s) were unschedulable"}
    assert results(recorded, "default/web")["filter-result"] == {"n1": message, "n3": message}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(["NodeName", "NodeAffinity"], {"n1": {"NodeName": "passed"}}, id="one of two"),
        pytest.param(["NodeAffinity"], {}, id="the only one"),
    ],
)
def test_a_plugin_that_skips_the_pod_has_no_filter_results(filters, expected):
    plugins = only(preFilter=["NodeAffinity"], filter=filters)
    recorded = Recorded(profiles=[profile(plugins)])
    recorded.attempt(make_node("n1"), make_pod("web"))
    assert results(recorded, "default/web")["filter-result"] == expected


def test_nodes_that_were_not_needed_are_absent():
    recorded = Recorded(
        percentageOfNodesToScore=10,
        profiles=[profile(only(filter=["NodeName"], score=["ImageLocality"]))],
    )
    recorded.put(*(make_node(f"n{i}") for i in range(120)))
    recorded.attempt(make_pod("web"))
    assert len(results(recorded, "default/web")["filter-result"]) == 100


def test_a_plugin_that_rejects_the_pod_leaves_later_points_out():
    class No(pw.Plugin):
        name = "No"

        def pre_filter(self, cycle):
            return pw.Status.unresolvable("never", "ever")

    class Later(pw.Plugin):
        name = "Later"

        def pre_filter(self, cycle):
            raise AssertionError

    recorded = Recorded(
        No,
        Later,
        profiles=[
            profile(
                only(preFilter=["NodeAffinity", "No", "Later"], postFilter=["DefaultPreemption"])
            )
        ],
    )
    recorded.attempt(make_node("n1"), make_pod("web"))
    found = results(recorded, "default/web")
    assert found["prefilter-result-status"] == {"NodeAffinity": "", "No": "never, ever"}
    assert found["filter-result"] == {}
    # No node was evaluated, so no node has its own status.
    assert found["postfilter-result"] == {}
    assert found["selected-node"] == ""


def test_without_nodes_there_are_no_results():
    recorded = Recorded()
    recorded.attempt(make_pod("web"))
    assert annotations(recorded, "default/web") == {}


# -------------------------------------------------------------------- scores


class Fixed(pw.Plugin):
    """Scores a node by the number at the end of its name; normalizes the best to 100."""

    name = "Fixed"

    def score(self, cycle, node):
        return int(node.name[1:])

    def normalize_score(self, cycle, out):
        out.values[out.rows] = out.values[out.rows] * 100 // out.values[out.rows].max()


class Plain(pw.Plugin):
    """Scores every node 7, and skips pods without a score."""

    name = "Plain"

    def pre_score(self, cycle):
        return pw.Status.skip() if cycle.pod.name == "skipper" else pw.Status.OK

    def score(self, cycle, node):
        return 7


SCORING = only(filter=["NodeName"], preScore=["Plain"])


@pytest.mark.parametrize(
    ("score", "multi_point", "weights"),
    [
        pytest.param(
            [{"name": "Fixed", "weight": 3}, {"name": "Plain"}], [], (3, 1), id="as configured"
        ),
        pytest.param(
            [{"name": "Fixed", "weight": 3}, {"name": "Plain", "weight": 2}],
            [{"name": "Fixed", "weight": 5}],
            (5, 2),
            id="multiPoint goes before",
        ),
    ],
)
def test_final_scores_are_normalized_and_weighted(score, multi_point, weights):
    plugins = SCORING | {"score": {"enabled": score}}
    plugins["multiPoint"] = {"enabled": multi_point, "disabled": [{"name": "*"}]}
    recorded = Recorded(Fixed, Plain, profiles=[profile(plugins)])
    recorded.put(make_node("n10"), make_node("n40"))
    recorded.attempt(make_pod("web"))
    found = results(recorded, "default/web")
    fixed, plain = weights
    assert found["prescore-result"] == {"Plain": "success"}
    assert found["score-result"] == {
        "n10": {"Fixed": "10", "Plain": "7"},
        "n40": {"Fixed": "40", "Plain": "7"},
    }
    assert found["finalscore-result"] == {
        "n10": {"Fixed": str(25 * fixed), "Plain": str(7 * plain)},
        "n40": {"Fixed": str(100 * fixed), "Plain": str(7 * plain)},
    }
    assert found["selected-node"] == "n40"


def test_a_plugin_that_skips_scoring_has_no_score():
    plugins = SCORING | {"score": {"enabled": [{"name": "Fixed"}, {"name": "Plain"}]}}
    recorded = Recorded(Fixed, Plain, profiles=[profile(plugins)])
    recorded.put(make_node("n10"), make_node("n40"))
    recorded.attempt(make_pod("skipper"))
    found = results(recorded, "default/skipper")
    assert found["prescore-result"] == {"Plain": ""}
    assert found["score-result"] == {"n10": {"Fixed": "10"}, "n40": {"Fixed": "40"}}


def test_weights_are_those_of_the_first_profile():
    def scoring(*plugins):
        return only(filter=["NodeName"], score=list(plugins))

    recorded = Recorded(
        Fixed,
        Plain,
        profiles=[
            profile(scoring({"name": "Fixed", "weight": 2})),
            profile(
                scoring({"name": "Fixed", "weight": 9}, {"name": "Plain", "weight": 4}), "other"
            ),
        ],
    )
    recorded.put(make_node("n10"), make_node("n40"))
    recorded.attempt(make_pod("web", scheduler="other"))
    # Own plugins that a profile does not name are enabled in it, so the first knows both.
    assert results(recorded, "default/web")["finalscore-result"] == {
        "n10": {"Fixed": "50", "Plain": "7"},
        "n40": {"Fixed": "200", "Plain": "7"},
    }


def test_a_plugin_that_the_first_profile_lacks_counts_nothing():
    recorded = Recorded(
        profiles=[
            profile(only(filter=["NodeName"])),
            profile(
                only(
                    filter=["NodeName"], preScore=["NodeResourcesFit"], score=["NodeResourcesFit"]
                ),
                "other",
            ),
        ]
    )
    recorded.put(make_node("n1"), make_node("n2"))
    recorded.attempt(make_pod("web", cpu="1", scheduler="other"))
    found = results(recorded, "default/web")
    assert {
        node: statuses["NodeResourcesFit"] for node, statuses in found["score-result"].items()
    } != {}
    assert found["finalscore-result"] == {
        "n1": {"NodeResourcesFit": "0"},
        "n2": {"NodeResourcesFit": "0"},
    }


def test_by_default_the_final_scores_sum_to_the_totals_of_the_scheduler():
    recorded = Recorded()
    recorded.put(make_node("n1", cpu="4"), make_node("n2", cpu="8"))
    recorded.attempt(make_pod("web", cpu="1"))
    attempt = kss_history(recorded.run.log, "default/web")[-1]
    final = json.loads(attempt.results[f"{PREFIX}finalscore-result"])
    sums = {node: sum(map(int, statuses.values())) for node, statuses in final.items()}
    assert sums == attempt.explanation.totals != {}


# -------------------------------------------------------------------- preemption


def test_preemption_names_the_node_and_does_not_change_filter_results():
    recorded = Recorded(
        profiles=[
            profile(
                only(
                    preFilter=["NodeResourcesFit"],
                    filter=["NodeName", "NodeResourcesFit"],
                    postFilter=["DefaultPreemption"],
                )
            )
        ]
    )
    recorded.put(make_node("n7", cpu="2"), make_node("n8", cpu="1"))
    recorded.put(make_pod("low", cpu="2", node="n7", priority=0))
    recorded.attempt(make_pod("high", cpu="2", priority=100))
    found = annotations(recorded, "default/high", 1)
    assert found["postfilter-result"] == '{"n7":{"DefaultPreemption":"preemption victim"},"n8":{}}'
    # Dry runs have passed on n7; the pod's own filtering counts.
    assert json.loads(found["filter-result"]) == {
        "n7": {"NodeName": "passed", "NodeResourcesFit": "Insufficient cpu"},
        "n8": {"NodeName": "passed", "NodeResourcesFit": "Insufficient cpu"},
    }
    recorded.now_ns += 10 * SECOND_NS
    recorded.cycle()
    found = annotations(recorded, "default/high")
    # The nominated node is tried first, alone.
    assert found["filter-result"] == '{"n7":{"NodeName":"passed","NodeResourcesFit":"passed"}}'
    assert found["selected-node"] == "n7"
    assert len(json.loads(found["result-history"])) == 2


def test_without_a_candidate_every_node_has_an_empty_result():
    recorded = Recorded()
    recorded.put(make_node("n1"), make_node("n2", unschedulable=True))
    recorded.attempt(make_pod("big", cpu="100"))
    assert annotations(recorded, "default/big")["postfilter-result"] == '{"n1":{},"n2":{}}'


def test_a_node_is_rejected_because_of_the_pods_nominated_to_it():
    recorded = Recorded()
    recorded.put(make_node("n1", cpu="2"))
    low = make_pod("low", cpu="2", node="n1", priority=0)
    recorded.put(low)
    recorded.holds = {"DeletePod"}
    recorded.attempt(make_pod("high", cpu="2", priority=100))
    recorded.holds = set()
    recorded.answer(recorded.held.pop())
    recorded.attempt(make_pod("other", cpu="1", priority=50))
    found = results(recorded, "default/other")
    assert found["filter-result"]["n1"]["NodeResourcesFit"] == "Insufficient cpu"
    assert found["filter-result"]["n1"]["NodeName"] == "passed"


# -------------------------------------------------------------------- attempts


def retried(pod):
    """Return a run in which a pod failed, failed again on more nodes, and then found one."""
    filters = ["TaintToleration", "NodeResourcesFit"]
    recorded = Recorded(profiles=[profile(only(preFilter=["NodeResourcesFit"], filter=filters))])
    recorded.put(make_node("n1", cpu="1"))
    recorded.attempt(pod)
    for node in (make_node("n2", cpu="8", taints=["a=b:NoSchedule"]), make_node("n3", cpu="8")):
        recorded.now_ns += 20 * SECOND_NS
        recorded.attempt(node)
    return recorded


def test_every_attempt_is_an_element_of_the_history():
    recorded = retried(make_pod("web", cpu="4"))
    assert [len(history_of(recorded, "default/web", attempt)) for attempt in (1, 2, 3)] == [1, 2, 3]
    history = history_of(recorded, "default/web")
    assert [element[f"{PREFIX}selected-node"] for element in history] == ["", "", "n3"]
    assert [len(json.loads(element[f"{PREFIX}filter-result"])) for element in history] == [1, 2, 3]
    last = annotations(recorded, "default/web")
    assert history[-1] == {PREFIX + k: v for k, v in last.items() if k != "result-history"}
    assert annotations(recorded, "default/web", 1)["selected-node"] == ""


def test_an_existing_history_is_extended():
    pod = with_fields(make_pod("web", cpu="4"), "metadata", annotations={HISTORY: '[{"a":"b"}]'})
    recorded = retried(pod)
    assert history_of(recorded, "default/web", 1)[0] == {"a": "b"}
    assert len(history_of(recorded, "default/web")) == 4


def test_an_invalid_history_stays_as_it_is():
    pod = with_fields(make_pod("web", cpu="4"), "metadata", annotations={HISTORY: "no list"})
    assert annotations(retried(pod), "default/web").keys() == PLUGIN_KEYS


def test_an_attempt_that_is_too_long_is_not_part_of_the_history():
    recorded = Recorded(
        profiles=[
            profile(
                only(
                    filter=["NodeName", "NodeUnschedulable", "TaintToleration"],
                    score=["ImageLocality"],
                )
            )
        ]
    )
    recorded.put(make_node("n1", unschedulable=True))
    recorded.attempt(make_pod("web"))
    recorded.now_ns += 20 * SECOND_NS
    recorded.put(*(make_node(f"{'a-node-with-a-long-name-' * 8}{i}") for i in range(1_200)))
    recorded.cycle()
    assert len(history_of(recorded, "default/web", 1)) == 1
    assert history_of(recorded, "default/web", 2) == history_of(recorded, "default/web", 1)
    assert annotations(recorded, "default/web")["selected-node"].startswith("a-node")


def test_attempts_of_an_earlier_pod_of_the_same_name_are_excluded():
    recorded = Recorded()
    recorded.put(make_node("n1", cpu="1"))
    for uid in ("first", "second"):
        pod = with_fields(make_pod("web", cpu="4"), "metadata", uid=uid)
        recorded.attempt(pod)
        recorded.remove(pod)
    assert len(history_of(recorded, "default/web", 1)) == 1
    assert len(history_of(recorded, "default/web", 2)) == 1


def test_the_attempts_of_a_pod_are_all_without_a_number():
    log = retried(make_pod("web", cpu="4")).run.log
    assert [each.attempt for each in kss_history(log, "default/web")] == [1, 2, 3]
    assert [each.attempt for each in kss_history(log, "default/web", 2)] == [1, 2]


def test_attempts_are_found_by_number_and_by_time():
    recorded = retried(make_pod("web", cpu="4"))
    log = recorded.run.log
    by_time = kss_annotations(log, "default/web", at=timestamp_text_nano(25 * SECOND_NS))
    assert by_time == kss_annotations(log, "default/web", 2)
    with pytest.raises(UnknownCycle, match="did you mean default/web"):
        kss_annotations(log, "default/wev")
    with pytest.raises(UnknownCycle, match="has 3 scheduling attempts"):
        kss_annotations(log, "default/web", 4)


def test_the_annotations_of_every_attempt_agree_with_its_explanation(tmp_path):
    with recorded_log(tmp_path) as log:
        tried = list(log.cycles())
        counts: dict[str, int] = {}
        for _, pod in tried:
            counts[pod] = counts.get(pod, 0) + 1
            attempt = kss_history(log, pod, counts[pod])[-1]
            explanation = attempt.explanation
            found = results_of(attempt)
            assert found["selected-node"] == explanation.decision.node
            assert found["filter-result"].keys() == set(explanation.examined)
            statuses = {
                node: list(statuses.values()) for node, statuses in found["filter-result"].items()
            }
            rejected = {node for node, words in statuses.items() if set(words) != {"passed"}}
            assert (
                rejected
                == explanation.rejected.keys()
                == set(explanation.examined) - set(explanation.feasible)
            )
            assert found["score-result"].keys() == explanation.totals.keys()
            final = found["finalscore-result"]
            assert {
                n: sum(map(int, one.values())) for n, one in final.items()
            } == explanation.totals
            assert bool(found["bind-result"]) is bool(explanation.decision.node)
    assert len(tried) > 8


def test_the_v1_16_rules_have_annotations():
    recorded = Recorded(rules={"name": "classic"})
    recorded.put(make_node("n1", cpu="1"), make_node("n2", cpu="4"), make_node("n3", cpu="8"))
    recorded.attempt(make_pod("web", cpu="2"))
    found = results(recorded, "default/web")
    assert found["selected-node"] in ("n2", "n3")
    assert found["filter-result"].keys() == {"n1", "n2", "n3"}
    assert found["filter-result"]["n1"]["GeneralPredicates"] == "Insufficient cpu"
    totals = kss_history(recorded.run.log, "default/web")[-1].explanation.totals
    final = {
        node: sum(map(int, statuses.values()))
        for node, statuses in found["finalscore-result"].items()
    }
    assert final == totals != {}
    assert found["bind-result"] == {"DefaultBinder": "success"}


def test_reading_annotations_does_not_change_the_run():
    recorded = retried(make_pod("web", cpu="4"))
    before = kss_annotations(recorded.run.log, "default/web")
    assert pw.verify(recorded.run.log).is_same
    assert kss_annotations(recorded.run.log, "default/web") == before
