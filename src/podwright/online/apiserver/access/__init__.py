"""Certificates, users and the kubeconfig of a cluster."""
