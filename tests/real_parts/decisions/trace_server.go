package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingapi "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedscheduling "k8s.io/client-go/kubernetes/typed/scheduling/v1alpha2"
)

// firstStart is the start time of the pod that is bound first.
var firstStart = time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)

var (
	podResource   = schema.GroupResource{Resource: "pods"}
	groupResource = schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}
)

// callRule is what happens to a call of the scheduler.
type callRule struct {
	Call  string  `json:"call"`
	Name  string  `json:"name"`
	Times int     `json:"times"`
	Delay float64 `json:"delay"`
	Error string  `json:"error"`
}

// traceServer is a client whose writes have the effects that FORMAT.md of the vectors describes.
type traceServer struct {
	kubernetes.Interface
	trace *trace
	store *fake.Clientset
	main  string

	mutex    sync.Mutex
	rules    []*callRule
	grace    *float64
	objects  map[string]apiruntime.Object
	names    map[types.UID]string
	keys     map[types.UID]string
	version  int
	bindings int
	// startsByName is whether pods start in the order of the numbers at the end of their names.
	startsByName bool
}

func newTraceServer(t *trace, script *traceScript) *traceServer {
	store := fake.NewSimpleClientset()
	return &traceServer{
		Interface: store, trace: t, store: store, main: goroutine(), rules: script.API, grace: script.GraceSeconds,
		objects: map[string]apiruntime.Object{}, names: map[types.UID]string{}, keys: map[types.UID]string{},
		startsByName: script.StartsByName,
	}
}

// IsWatchListSemanticsUnSupported makes informers list before they watch, as for the client within.
func (s *traceServer) IsWatchListSemanticsUnSupported() bool { return true }

// goroutine names the running goroutine.
func goroutine() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	return string(text[:bytes.IndexByte(text, '[')])
}

func (s *traceServer) keyOf(uid types.UID) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if key, ok := s.keys[uid]; ok {
		return key
	}
	return string(uid)
}

func storedKey(kind, key string) string { return kind + " " + key }

func kindOf(object apiruntime.Object) schema.GroupVersionKind {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	return kinds[0]
}

// put creates or replaces an object, and returns when the scheduler has seen it.
func (s *traceServer) put(object apiruntime.Object) {
	s.write(object)
	synctest.Wait()
}

func (s *traceServer) write(object apiruntime.Object) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	object = object.DeepCopyObject()
	accessor, _ := meta.Accessor(object)
	s.version++
	accessor.SetResourceVersion(strconv.Itoa(s.version))
	kind := kindOf(object)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	key := storedKey(kind.Kind, objectKey(object))
	_, known := s.objects[key]
	s.objects[key] = object
	s.keys[accessor.GetUID()] = objectKey(object)
	s.names[accessor.GetUID()] = accessor.GetName()
	var err error
	if known {
		err = s.store.Tracker().Update(resource, object, accessor.GetNamespace())
	} else {
		err = s.store.Tracker().Create(resource, object, accessor.GetNamespace())
	}
	if err != nil {
		panic(err)
	}
}

func (s *traceServer) get(kind, key string) apiruntime.Object {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.objects[storedKey(kind, key)]
}

// replace does what a user's update does: a pod keeps what the user cannot write.
func (s *traceServer) replace(object apiruntime.Object) {
	present := s.get(kindOf(object).Kind, objectKey(object))
	if present == nil {
		return
	}
	if pod, ok := object.(*v1.Pod); ok {
		old := present.(*v1.Pod)
		pod.Status = *old.Status.DeepCopy()
		pod.Spec.NodeName, pod.DeletionTimestamp = old.Spec.NodeName, old.DeletionTimestamp
	}
	s.put(object)
}

func (s *traceServer) remove(kind, key string) {
	s.erase(kind, key)
	synctest.Wait()
}

func (s *traceServer) erase(kind, key string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	object := s.objects[storedKey(kind, key)]
	if object == nil {
		return
	}
	delete(s.objects, storedKey(kind, key))
	accessor, _ := meta.Accessor(object)
	resource, _ := meta.UnsafeGuessKindToResource(kindOf(object))
	if err := s.store.Tracker().Delete(resource, accessor.GetNamespace(), accessor.GetName()); err != nil {
		panic(err)
	}
}

func (s *traceServer) terminate(key string) {
	s.startDeletion(key)
	synctest.Wait()
}

// startDeletion deletes a pod with its grace period, if it has one.
func (s *traceServer) startDeletion(key string) {
	present, ok := s.get("Pod", key).(*v1.Pod)
	if !ok {
		return
	}
	if s.grace == nil || present.Spec.NodeName == "" {
		s.erase("Pod", key)
		return
	}
	if present.DeletionTimestamp == nil {
		pod := present.DeepCopy()
		gone := metav1.NewTime(time.Now().Add(time.Duration(*s.grace * float64(time.Second))).Truncate(time.Second))
		pod.DeletionTimestamp = &gone
		s.write(pod)
	}
}

func (s *traceServer) reap() {
	s.mutex.Lock()
	var going []string
	for _, object := range s.objects {
		if pod, ok := object.(*v1.Pod); ok && pod.DeletionTimestamp != nil {
			going = append(going, objectKey(pod))
		}
	}
	s.mutex.Unlock()
	sort.Strings(going)
	for _, key := range going {
		s.remove("Pod", key)
	}
}

// call carries out a call of the scheduler. Calls of different objects at one instant happen in the
// order of their numbers; the scheduling goroutine takes no time.
func (s *traceServer) call(key string, described document, apply func() error) error {
	inMain := goroutine() == s.main
	if !inMain {
		time.Sleep(time.Duration(digitsOf(key)%300+1) * time.Microsecond)
	}
	s.mutex.Lock()
	var rule *callRule
	for _, each := range s.rules {
		if each.Call == described["call"] && (each.Name == "*" || each.Name == key) && each.Times > 0 {
			each.Times--
			rule = each
			break
		}
	}
	s.mutex.Unlock()
	t := s.trace
	t.mutex.Lock()
	delayed := rule != nil && rule.Delay > 0
	if delayed {
		described["started"] = true
	}
	t.calls[key] = append(t.calls[key], described)
	t.mutex.Unlock()
	if delayed {
		time.Sleep(time.Duration(rule.Delay * float64(time.Second)))
	}
	var err error
	if rule != nil && rule.Error != "" {
		err = scriptedError(rule.Error, described["call"].(string), key)
	} else {
		err = apply()
	}
	if err != nil && !delayed {
		t.mutex.Lock()
		described["error"] = err.Error()
		t.mutex.Unlock()
	}
	if inMain {
		synctest.Wait()
	} else {
		time.Sleep(time.Nanosecond)
	}
	return err
}

func scriptedError(text, call, key string) error {
	resource, name := podResource, key[strings.LastIndex(key, "/")+1:]
	if call == "patch_podgroup_status" {
		resource = groupResource
	}
	switch text {
	case "conflict":
		return conflict(name)
	case "not_found":
		return apierrors.NewNotFound(resource, name)
	case "forbidden":
		return apierrors.NewForbidden(resource, name, errors.New("denied"))
	}
	return errors.New(text)
}

func conflict(name string) error {
	return apierrors.NewConflict(podResource, name, errors.New("the object has been modified"))
}

func (s *traceServer) CoreV1() typedcore.CoreV1Interface {
	return tracedCore{s.Interface.CoreV1(), s}
}

func (s *traceServer) SchedulingV1alpha2() typedscheduling.SchedulingV1alpha2Interface {
	return tracedScheduling{s.Interface.SchedulingV1alpha2(), s}
}

type tracedCore struct {
	typedcore.CoreV1Interface
	server *traceServer
}

func (c tracedCore) Pods(namespace string) typedcore.PodInterface {
	return tracedPods{c.CoreV1Interface.Pods(namespace), c.server, namespace}
}

type tracedScheduling struct {
	typedscheduling.SchedulingV1alpha2Interface
	server *traceServer
}

func (c tracedScheduling) PodGroups(namespace string) typedscheduling.PodGroupInterface {
	return tracedGroups{c.SchedulingV1alpha2Interface.PodGroups(namespace), c.server, namespace}
}

type tracedPods struct {
	typedcore.PodInterface
	server    *traceServer
	namespace string
}

func (p tracedPods) Bind(_ context.Context, binding *v1.Binding, _ metav1.CreateOptions) error {
	key := p.namespace + "/" + binding.Name
	return p.server.call(key, document{"call": "bind", "node": binding.Target.Name}, func() error {
		present, ok := p.server.get("Pod", key).(*v1.Pod)
		if !ok {
			return apierrors.NewNotFound(podResource, binding.Name)
		}
		if present.DeletionTimestamp != nil || present.Spec.NodeName != "" {
			return conflict(binding.Name)
		}
		pod := present.DeepCopy()
		pod.Spec.NodeName = binding.Target.Name
		pod.Status.NominatedNodeName = ""
		conditions := []v1.PodCondition{}
		for _, each := range pod.Status.Conditions {
			if each.Type != v1.PodScheduled {
				conditions = append(conditions, each)
			}
		}
		pod.Status.Conditions = append(conditions, v1.PodCondition{
			Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
		})
		pod.Status.Phase = v1.PodRunning
		second := p.server.bindings
		if p.server.startsByName {
			second, _ = strconv.Atoi(pod.Name[len(strings.TrimRight(pod.Name, "0123456789")):])
		}
		started := metav1.NewTime(firstStart.Add(time.Duration(second) * time.Second))
		p.server.bindings++
		pod.Status.StartTime = &started
		p.server.write(pod)
		return nil
	})
}

func (p tracedPods) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*v1.Pod, error) {
	key := p.namespace + "/" + name
	err := p.server.call(key, document{"call": "patch_status", "patch": statusOf(data)}, func() error {
		present, ok := p.server.get("Pod", key).(*v1.Pod)
		if !ok {
			return apierrors.NewNotFound(podResource, name)
		}
		pod := &v1.Pod{}
		if err := patched(present, data, pod); err != nil {
			return err
		}
		p.server.write(pod)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.server.get("Pod", key).(*v1.Pod), nil
}

func (p tracedPods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	key := p.namespace + "/" + name
	return p.server.call(key, document{"call": "delete"}, func() error {
		if p.server.get("Pod", key) == nil {
			return apierrors.NewNotFound(podResource, name)
		}
		p.server.startDeletion(key)
		return nil
	})
}

type tracedGroups struct {
	typedscheduling.PodGroupInterface
	server    *traceServer
	namespace string
}

func (p tracedGroups) Patch(
	_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*schedulingapi.PodGroup, error) {
	key := p.namespace + "/" + name
	err := p.server.call(key, document{"call": "patch_podgroup_status", "patch": statusOf(data)}, func() error {
		present, ok := p.server.get("PodGroup", key).(*schedulingapi.PodGroup)
		if !ok {
			return apierrors.NewNotFound(groupResource, name)
		}
		group := &schedulingapi.PodGroup{}
		if err := patched(present, data, group); err != nil {
			return err
		}
		p.server.write(group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.server.get("PodGroup", key).(*schedulingapi.PodGroup), nil
}

func statusOf(patch []byte) any {
	var found struct {
		Status any `json:"status"`
	}
	if err := json.Unmarshal(patch, &found); err != nil {
		panic(err)
	}
	return found.Status
}

func patched(present apiruntime.Object, patch []byte, into apiruntime.Object) error {
	before, err := json.Marshal(present)
	if err != nil {
		return err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, into)
	if err != nil {
		return err
	}
	return json.Unmarshal(after, into)
}
