"""The vectors of kube-scheduler 1.16."""
