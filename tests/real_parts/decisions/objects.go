package main

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
)

// recorder calls a function when a plugin emits an Event.
type recorder struct {
	events.FakeRecorder
	emitted func(reason string)
}

func (r *recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	if r.emitted != nil {
		r.emitted(reason)
	}
}

func (r *recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

func decoded(raw json.RawMessage) (runtime.Object, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	return object, err
}

// storedObjects decodes objects and gives each a resource version, as an API server does.
func storedObjects(raw []json.RawMessage) ([]runtime.Object, error) {
	var objects []runtime.Object
	for _, each := range raw {
		object, err := decoded(each)
		if err != nil {
			return nil, err
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		if accessor.GetResourceVersion() == "" {
			accessor.SetResourceVersion("1")
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// informedScheduler returns a scheduler whose informers have the objects of a client.
func informedScheduler(
	ctx context.Context, client kubernetes.Interface, recorder *recorder, options ...scheduler.Option,
) (*scheduler.Scheduler, error) {
	informers := scheduler.NewInformerFactory(client, 0)
	recorders := func(string) events.EventRecorderLogger { return recorder }
	built, err := scheduler.New(ctx, client, informers, nil, recorders, options...)
	if err != nil {
		return nil, err
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	return built, built.WaitForHandlersSync(ctx)
}
