"""Find the number of nodes with which no pod of a workload waits longer than a minute.

Run it with `python examples/simulate/how_many_nodes.py`. It simulates the same morning with an
increasing number of nodes, and prints the waiting times.
"""

from __future__ import annotations

import podwright as pw

LONGEST_WAIT_S = 60.0


def morning(node_count: int) -> pw.Run:
    """Simulate forty pods that are created a minute apart and run for an hour."""
    pods = [
        {
            "at": f"{minute}m",
            "apply": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"work-{minute}",
                    "annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"},
                },
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "main", "image": "work", "resources": {"requests": {"cpu": "2"}}}
                    ],
                },
            },
        }
        for minute in range(40)
    ]
    nodes = [pw.testing.make_node(f"node-{number}", cpu="8") for number in range(node_count)]
    return pw.simulate(nodes, events=pods, seed=7)


def main() -> None:
    """Simulate with an increasing number of nodes."""
    for node_count in range(5, 13):
        run = morning(node_count)
        longest_s, use = run.summary.waits.max_s, run.summary.utilization["cpu"]
        print(f"{node_count:2} nodes: longest wait {longest_s:6.0f} s, cpu {use.mean:.0%} used")
        if longest_s <= LONGEST_WAIT_S and not run.pending:
            return


if __name__ == "__main__":
    main()
