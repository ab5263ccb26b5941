"""Generated decisions about devices, compared with kube-scheduler's own code (main.go)."""
