"""What kube-scheduler-simulator writes on pods, made from a decision log.

Start with `annotations.py`.
"""
