"""The tables of a log that has dropped its oldest events."""

from podwright.simulation.recording.log.log_tables import NodeShares, tables_of_log
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod


def test_the_pods_of_the_first_checkpoint_were_there_before():
    run = Recorded()
    run.run = record(None, checkpoint_events=1 << 40)
    run.put(make_node("n1", cpu="4"), make_node("n2", cpu="1"))
    run.attempt(make_pod("large", cpu="8"))
    run.put(make_pod("foreign", scheduler="other"))
    for number in range(4):
        run.put(make_pod(f"p{number}", cpu="1"))
        run.cycle()
        if number == 1:
            assert run.run.log.checkpoint(run.run.machine, is_whole=True)
    run.put(make_node("n3", cpu="8"), make_pod("foreign", scheduler="other", node="n3"))
    run.now_ns += 60 * SECOND_NS
    run.cycle()
    log = run.run.log
    assert log.drop_before_checkpoint() > 0
    shares = NodeShares()
    tables = tables_of_log(log, SECOND_NS, run.now_ns, node_shares=shares)
    assert tables.counts.created == 2
    waits = tables.rows()["waits"]
    assert sorted(zip(waits["pod"], waits["outcome"], strict=True)) == [
        ("foreign", "Scheduled"),
        ("large", "Scheduled"),
        ("p2", "Scheduled"),
        ("p3", "Scheduled"),
    ]
    assert waits["attempts"][waits["pod"].index("large")] == 2
    assert waits["attempts"][waits["pod"].index("foreign")] == 0
    cpu = [row for row, name in enumerate(shares.columns["resource"]) if name == "cpu"]
    assert shares.columns["nodes"][cpu[-1]] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]
