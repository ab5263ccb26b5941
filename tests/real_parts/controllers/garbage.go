package main

import (
	"context"
	"math/rand"
	"reflect"
	"time"
	_ "unsafe"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// idle is longer than the first delays of what the collector tries again.
const idle = 7 * time.Millisecond

const (
	added = iota
	updated
	deleted
)

// collector is a garbage collector whose queues are worked off here, one item after the other.
type collector struct {
	one   *garbagecollector.GarbageCollector
	graph *garbagecollector.GraphBuilder
	s     *server
	seen  map[string]runtime.Object
}

func newCollector(ctx context.Context, s *server, _ informers.SharedInformerFactory) instance {
	made, err := garbagecollector.NewGarbageCollector(ctx, s.client, metadataClient{s}, mapper{testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme)}, nil, nil, nil)
	must(err)
	c := &collector{made, made.GetDependencyGraphBuilder(), s, map[string]runtime.Object{}}
	return instance{made, nil, c.sync, nil}
}

func (c *collector) sync(ctx context.Context, _ string) error {
	logger := klog.FromContext(ctx)
	if len(c.seen) == 0 {
		c.observe(logger)
	}
	isIdle := false
	for c.changes(); ; c.changes() {
		// Upstream's workers run in parallel, so any of them is next.
		work := []func(){}
		if length(c.graph, "graphChanges") > 0 {
			work = append(work, func() { processGraphChanges(c.graph, logger) })
		}
		if length(c.one, "attemptToDelete") > 0 {
			work = append(work, func() { processAttemptToDelete(c.one, ctx) })
		}
		if length(c.one, "attemptToOrphan") > 0 {
			work = append(work, func() { processAttemptToOrphan(c.one, logger) })
		}
		switch {
		case len(work) > 0:
			isIdle = false
			work[rand.Intn(len(work))]()
		case isIdle:
			return nil
		default:
			isIdle = true
			time.Sleep(idle)
		}
	}
}

// observe gives the graph the objects as they were before the first of them was deleted.
func (c *collector) observe(logger klog.Logger) {
	for name, obj := range c.objects() {
		before := obj.DeepCopyObject()
		accessor(before).SetDeletionTimestamp(nil)
		c.seen[name] = before
		c.enqueue(added, nil, before)
	}
	for length(c.graph, "graphChanges") > 0 {
		processGraphChanges(c.graph, logger)
	}
}

func (c *collector) objects() map[string]runtime.Object {
	now := map[string]runtime.Object{}
	for resource, kind := range c.s.kinds {
		for _, obj := range c.s.list(resource) {
			obj.GetObjectKind().SetGroupVersionKind(kind)
			now[kind.Kind+" "+accessor(obj).GetName()] = obj
		}
	}
	return now
}

// changes gives the graph what changed, in any order: each kind has its own watch.
func (c *collector) changes() {
	now := c.objects()
	names := []string{}
	for name := range now {
		names = append(names, name)
	}
	for name := range c.seen {
		if now[name] == nil {
			names = append(names, name)
		}
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		switch before, after := c.seen[name], now[name]; {
		case before == nil:
			c.enqueue(added, nil, after)
		case after == nil:
			c.enqueue(deleted, nil, before)
		case !reflect.DeepEqual(before, after):
			c.enqueue(updated, before, after)
		}
	}
	c.seen = now
}

func (c *collector) enqueue(change int, before, after runtime.Object) {
	add := queue(c.graph, "graphChanges").MethodByName("Add")
	event := reflect.New(add.Type().In(0).Elem())
	writable(event.Elem().FieldByName("eventType")).SetInt(int64(change))
	writable(event.Elem().FieldByName("obj")).Set(reflect.ValueOf(after))
	if before != nil {
		writable(event.Elem().FieldByName("oldObj")).Set(reflect.ValueOf(before))
	}
	writable(event.Elem().FieldByName("gvk")).Set(reflect.ValueOf(after.GetObjectKind().GroupVersionKind()))
	add.Call([]reflect.Value{event})
}

func queue(owner any, name string) reflect.Value {
	return writable(reflect.ValueOf(owner).Elem().FieldByName(name))
}

func length(owner any, name string) int {
	return int(queue(owner, name).MethodByName("Len").Call(nil)[0].Int())
}

type mapper struct{ meta.RESTMapper }

func (mapper) Reset() {}

// metadataClient reads and writes the metadata of the server's objects.
type metadataClient struct{ s *server }

func (m metadataClient) Resource(resource schema.GroupVersionResource) metadata.Getter {
	return metadataOf{s: m.s, resource: resource}
}

type metadataOf struct {
	metadata.ResourceInterface
	s         *server
	resource  schema.GroupVersionResource
	namespace string
}

func (m metadataOf) Namespace(namespace string) metadata.ResourceInterface {
	m.namespace = namespace
	return m
}

func (m metadataOf) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	obj, err := m.s.client.Tracker().Get(m.resource, m.namespace, name)
	if err != nil {
		return nil, err
	}
	one := field(obj.DeepCopyObject(), "ObjectMeta").(metav1.ObjectMeta)
	return &metav1.PartialObjectMetadata{ObjectMeta: one}, nil
}

func (m metadataOf) Delete(_ context.Context, name string, options metav1.DeleteOptions, _ ...string) error {
	return m.s.delete(clienttesting.NewDeleteActionWithOptions(m.resource, m.namespace, name, options))
}

func (m metadataOf) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	if _, _, err := m.s.react(clienttesting.NewPatchAction(m.resource, m.namespace, name, kind, data)); err != nil {
		return nil, err
	}
	return nil, nil
}

//go:linkname processGraphChanges k8s.io/kubernetes/pkg/controller/garbagecollector.(*GraphBuilder).processGraphChanges
func processGraphChanges(made *garbagecollector.GraphBuilder, logger klog.Logger) bool

//go:linkname processAttemptToDelete k8s.io/kubernetes/pkg/controller/garbagecollector.(*GarbageCollector).processAttemptToDeleteWorker
func processAttemptToDelete(made *garbagecollector.GarbageCollector, ctx context.Context) bool

//go:linkname processAttemptToOrphan k8s.io/kubernetes/pkg/controller/garbagecollector.(*GarbageCollector).processAttemptToOrphanWorker
func processAttemptToOrphan(made *garbagecollector.GarbageCollector, logger klog.Logger) bool
