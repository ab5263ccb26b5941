"""The metrics of a machine, under kube-scheduler's names."""
