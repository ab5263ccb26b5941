// kube-scheduler with a plugin that is not in its tree, as a user builds it: nodes whose label
// example.com/closed is "true" are left out.
package main

import (
	"context"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/cli"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const name = "OpenNodes"

type openNodes struct{}

func (openNodes) Name() string { return name }

func (openNodes) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Labels["example.com/closed"] == "true" {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) were closed")
	}
	return nil
}

func newPlugin(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	return openNodes{}, nil
}

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(name, newPlugin))))
}
