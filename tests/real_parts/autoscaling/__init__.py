"""The autoscaler of simulations beside cluster-autoscaler's own binary."""
