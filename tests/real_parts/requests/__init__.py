"""Generated requests, sent to the real kube-apiserver and to podwright."""
