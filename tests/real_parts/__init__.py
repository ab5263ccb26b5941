"""The components of Kubernetes 1.36 themselves, built from Go modules and started for tests."""
