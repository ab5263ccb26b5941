// What controllers of kube-controller-manager make of a cluster.
//
// The program reads a JSON document a line, {"now", "controller", "key", "objects"}, and writes one
// for each: the objects that differ and the Events after the controller has synced the key until it writes no
// more, while no time passes. The API server is client-go's fake with what controllers rely on:
// defaults, generated names, generations, statuses apart from specs, and deletions that wait for
// finalizers and for the end of pods. Names and uids that it draws have the form of `drawn`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
)

type question struct {
	Now        time.Time         `json:"now"`
	Controller string            `json:"controller"`
	Key        string            `json:"key"`
	Objects    []json.RawMessage `json:"objects"`
}

type answer struct {
	Changed []json.RawMessage `json:"changed"`
	Removed []string          `json:"removed"`
	Events  []string          `json:"events"`
	Error   string            `json:"error,omitempty"`
	Endless bool              `json:"endless,omitempty"`
}

const mostSyncs = 25

var finalizerOf = map[metav1.DeletionPropagation]string{
	metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
	metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
}

var (
	drawn = regexp.MustCompile(`drawn\d{5}`)
	times = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`)
)

func main() {
	klog.SetLogger(klog.Logger{})
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The caches here are always up to date.
	for _, kind := range []string{"DaemonSet", "Job", "ReplicaSet", "StatefulSet"} {
		if err := utilfeature.DefaultMutableFeatureGate.Set("StaleControllerConsistency" + kind + "=false"); err != nil {
			panic(err)
		}
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for input.Scan() {
		var head question
		if err := json.Unmarshal(input.Bytes(), &head); err != nil {
			panic(err)
		}
		shift := time.Now().Truncate(time.Second).Sub(head.Now)
		var given question
		if err := json.Unmarshal(shifted(input.Bytes(), shift), &given); err != nil {
			panic(err)
		}
		text, err := json.Marshal(synced(given))
		if err != nil {
			panic(err)
		}
		output.Write(shifted(drawn.ReplaceAll(text, []byte("drawn")), -shift))
		output.WriteByte('\n')
	}
}

// shifted moves all times of a document.
func shifted(text []byte, by time.Duration) []byte {
	return times.ReplaceAllFunc(text, func(found []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339+`"`, string(found))
		if err != nil {
			panic(err)
		}
		return []byte(at.Add(by).UTC().Format(`"` + time.RFC3339 + `"`))
	})
}

func synced(given question) answer {
	server := newServer(given.Objects)
	maker := makers[given.Controller]
	if maker == nil {
		panic("unknown controller " + given.Controller)
	}
	ctx := klog.NewContext(context.Background(), klog.Logger{})
	factory := informers.NewSharedInformerFactory(server.client, 0)
	one := maker(ctx, server, factory)
	setRecorders(reflect.ValueOf(one.controller), server, map[unsafe.Pointer]bool{})
	before := server.objects()
	for name := range before {
		if strings.HasPrefix(name, "EndpointSlice ") {
			// Endpoints go to any slice with room, so all slices are compared.
			delete(before, name)
		}
	}
	found := answer{Endless: true}
	for range mostSyncs {
		server.fill(one.caches)
		if one.reset != nil {
			one.reset()
		}
		server.writes = 0
		err := one.sync(ctx, given.Key)
		found.Error = ""
		if err != nil {
			found.Error = err.Error()
		}
		if server.writes == 0 {
			found.Endless = false
			break
		}
	}
	found.Changed, found.Removed = server.differences(before)
	// Pods are created in parallel.
	found.Events = server.events
	masked := func(i int) string { return drawn.ReplaceAllString(found.Events[i], "drawn") }
	sort.Slice(found.Events, func(i, j int) bool { return masked(i) < masked(j) })
	return found
}

// ------------------------------------------------------------------------------ the API server

type server struct {
	client *fake.Clientset
	lock   sync.Mutex
	count  int
	writes int
	events []string
	kinds  map[schema.GroupVersionResource]schema.GroupVersionKind
}

func newServer(documents []json.RawMessage) *server {
	s := &server{client: fake.NewSimpleClientset(), kinds: map[schema.GroupVersionResource]schema.GroupVersionKind{}}
	s.client.PrependReactor("*", "*", s.react)
	for _, document := range documents {
		obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			panic(err)
		}
		legacyscheme.Scheme.Default(obj)
		resource, _ := meta.UnsafeGuessKindToResource(*kind)
		s.kinds[resource] = *kind
		if err := s.client.Tracker().Create(resource, obj, accessor(obj).GetNamespace()); err != nil {
			panic(err)
		}
	}
	return s
}

func accessor(obj runtime.Object) metav1.Object {
	found, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return found
}

func (s *server) draw() string {
	s.count++
	return fmt.Sprintf("drawn%05d", s.count)
}

func (s *server) react(action clienttesting.Action) (bool, runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		return s.create(action)
	case clienttesting.UpdateActionImpl:
		obj, err := s.update(action.Resource, action.Namespace, action.Subresource, action.Object)
		return true, obj, err
	case clienttesting.PatchActionImpl:
		old, err := s.client.Tracker().Get(action.Resource, action.Namespace, action.Name)
		if err != nil {
			return true, nil, err
		}
		if err := sameUID(action.Patch, old); err != nil {
			return true, nil, err
		}
		_, obj, err := clienttesting.ObjectReaction(s.client.Tracker())(action)
		if err != nil {
			return true, nil, err
		}
		patched := obj.DeepCopyObject()
		if err := s.client.Tracker().Update(action.Resource, old, action.Namespace); err != nil {
			return true, nil, err
		}
		obj, err = s.update(action.Resource, action.Namespace, action.Subresource, patched)
		return true, obj, err
	case clienttesting.DeleteActionImpl:
		return true, nil, s.delete(action)
	}
	return false, nil, nil
}

func sameUID(patch []byte, old runtime.Object) error {
	var wanted struct {
		Metadata struct{ UID types.UID }
	}
	if err := json.Unmarshal(patch, &wanted); err != nil {
		return err
	}
	if wanted.Metadata.UID != "" && wanted.Metadata.UID != accessor(old).GetUID() {
		return errors.NewConflict(schema.GroupResource{}, accessor(old).GetName(), fmt.Errorf("another uid"))
	}
	return nil
}

func (s *server) create(action clienttesting.CreateActionImpl) (bool, runtime.Object, error) {
	if action.Subresource != "" {
		return false, nil, nil
	}
	obj := action.Object.DeepCopyObject()
	made := accessor(obj)
	made.SetNamespace(action.Namespace)
	if made.GetName() == "" {
		made.SetName(made.GetGenerateName() + s.draw())
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return true, nil, err
	}
	s.kinds[action.Resource] = kinds[0]
	made.SetUID(types.UID(s.draw()))
	made.SetCreationTimestamp(metav1.Now())
	if field(obj, "Spec") != nil {
		made.SetGeneration(1)
	}
	legacyscheme.Scheme.Default(obj)
	if pod, ok := obj.(*v1.Pod); ok {
		pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: qos.ComputePodQOS(pod)}
	}
	s.writes++
	if err := s.client.Tracker().Create(action.Resource, obj, action.Namespace); err != nil {
		return true, nil, err
	}
	return true, obj, nil
}

func (s *server) update(resource schema.GroupVersionResource, namespace, subresource string, given runtime.Object) (runtime.Object, error) {
	name := accessor(given).GetName()
	old, err := s.client.Tracker().Get(resource, namespace, name)
	if err != nil {
		return nil, err
	}
	kept, sent := old.DeepCopyObject(), given.DeepCopyObject()
	if subresource == "status" {
		copyField(kept, sent, "Status")
		// Deployments' annotations are written with their status.
		accessor(kept).SetAnnotations(accessor(sent).GetAnnotations())
		sent = kept
	} else {
		copyField(sent, kept, "Status")
		accessor(sent).SetUID(accessor(old).GetUID())
		accessor(sent).SetCreationTimestamp(accessor(old).GetCreationTimestamp())
		accessor(sent).SetGeneration(accessor(old).GetGeneration())
		if !equality.Semantic.DeepEqual(field(sent, "Spec"), field(old, "Spec")) {
			accessor(sent).SetGeneration(accessor(old).GetGeneration() + 1)
		}
	}
	legacyscheme.Scheme.Default(sent)
	if equality.Semantic.DeepEqual(sent, old) {
		return sent, nil
	}
	s.writes++
	one := accessor(sent)
	grace := one.GetDeletionGracePeriodSeconds()
	if one.GetDeletionTimestamp() != nil && len(one.GetFinalizers()) == 0 && (grace == nil || *grace == 0) {
		return sent, s.client.Tracker().Delete(resource, namespace, name)
	}
	return sent, s.client.Tracker().Update(resource, sent, namespace)
}

func (s *server) delete(action clienttesting.DeleteActionImpl) error {
	old, err := s.client.Tracker().Get(action.Resource, action.Namespace, action.Name)
	if err != nil {
		return err
	}
	obj := old.DeepCopyObject()
	one := accessor(obj)
	if wanted := action.DeleteOptions.Preconditions; wanted != nil && wanted.UID != nil && *wanted.UID != one.GetUID() {
		return errors.NewConflict(action.Resource.GroupResource(), action.Name, fmt.Errorf("another uid"))
	}
	grace := int64(0)
	if pod, ok := obj.(*v1.Pod); ok && pod.Spec.NodeName != "" && pod.Status.Phase != v1.PodFailed && pod.Status.Phase != v1.PodSucceeded {
		grace = *pod.Spec.TerminationGracePeriodSeconds
		if given := action.DeleteOptions.GracePeriodSeconds; given != nil {
			grace = *given
		}
	}
	if policy := action.DeleteOptions.PropagationPolicy; policy != nil {
		one.SetFinalizers(slices.DeleteFunc(slices.Clone(one.GetFinalizers()), func(each string) bool {
			return each == metav1.FinalizerDeleteDependents || each == metav1.FinalizerOrphanDependents
		}))
		if name := finalizerOf[*policy]; name != "" {
			one.SetFinalizers(append(one.GetFinalizers(), name))
		}
		if before := accessor(old).GetFinalizers(); sets.New(before...).Equal(sets.New(one.GetFinalizers()...)) {
			one.SetFinalizers(slices.Clone(before))
		}
	}
	if grace == 0 && len(one.GetFinalizers()) == 0 {
		s.writes++
		return s.client.Tracker().Delete(action.Resource, action.Namespace, action.Name)
	}
	if one.GetDeletionTimestamp() != nil {
		if slices.Equal(one.GetFinalizers(), accessor(old).GetFinalizers()) {
			return nil
		}
		s.writes++
		return s.client.Tracker().Update(action.Resource, obj, action.Namespace)
	}
	s.writes++
	at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second))
	one.SetDeletionTimestamp(&at)
	one.SetDeletionGracePeriodSeconds(&grace)
	if one.GetGeneration() > 0 {
		one.SetGeneration(one.GetGeneration() + 1)
	}
	return s.client.Tracker().Update(action.Resource, obj, action.Namespace)
}

func field(obj runtime.Object, name string) any {
	found := reflect.ValueOf(obj).Elem().FieldByName(name)
	if !found.IsValid() {
		return nil
	}
	return found.Interface()
}

func copyField(to, from runtime.Object, name string) {
	if found := reflect.ValueOf(to).Elem().FieldByName(name); found.IsValid() {
		found.Set(reflect.ValueOf(from).Elem().FieldByName(name))
	}
}

func (s *server) list(resource schema.GroupVersionResource) []runtime.Object {
	kind, ok := s.kinds[resource]
	if !ok {
		return nil
	}
	list, err := s.client.Tracker().List(resource, kind, "")
	if err != nil {
		panic(err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		panic(err)
	}
	return objects
}

// fill puts the present objects into the caches of a controller.
func (s *server) fill(caches map[schema.GroupVersionResource]cache.SharedIndexInformer) {
	for resource, informer := range caches {
		var found []any
		for _, obj := range s.list(resource) {
			found = append(found, obj)
		}
		if err := informer.GetIndexer().Replace(found, ""); err != nil {
			panic(err)
		}
	}
}

// objects returns the text of each object, by its kind and name.
func (s *server) objects() map[string]string {
	texts := map[string]string{}
	for resource, kind := range s.kinds {
		for _, obj := range s.list(resource) {
			obj.GetObjectKind().SetGroupVersionKind(kind)
			text, err := json.Marshal(obj)
			if err != nil {
				panic(err)
			}
			texts[kind.Kind+" "+accessor(obj).GetName()] = string(text)
		}
	}
	return texts
}

// differences returns what was made or changed, and the kinds and names of what was removed.
func (s *server) differences(before map[string]string) ([]json.RawMessage, []string) {
	changed, removed := []json.RawMessage{}, []string{}
	after := s.objects()
	for name, text := range after {
		if before[name] != text {
			changed = append(changed, json.RawMessage(text))
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			removed = append(removed, name)
		}
	}
	masked := func(text []byte) []byte { return drawn.ReplaceAll(text, []byte("drawn")) }
	sort.Slice(changed, func(i, j int) bool { return bytes.Compare(masked(changed[i]), masked(changed[j])) < 0 })
	sort.Strings(removed)
	return changed, removed
}

// ---------------------------------------------------------------------------------- the Events

func (s *server) record(about runtime.Object, severity, reason, note string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var name string
	if ref, ok := about.(*v1.ObjectReference); ok {
		name = ref.Name
	} else {
		name = accessor(about).GetName()
	}
	event := fmt.Sprintf("%s %s %s %s", name, severity, reason, note)
	for _, each := range s.events {
		if each == event {
			return
		}
	}
	s.events = append(s.events, event)
}

// Event and its siblings make the server an EventRecorder.
func (s *server) Event(about runtime.Object, severity, reason, note string) {
	s.record(about, severity, reason, note)
}

func (s *server) Eventf(about runtime.Object, severity, reason, format string, parts ...any) {
	s.record(about, severity, reason, fmt.Sprintf(format, parts...))
}

func (s *server) AnnotatedEventf(about runtime.Object, _ map[string]string, severity, reason, format string, parts ...any) {
	s.record(about, severity, reason, fmt.Sprintf(format, parts...))
}

func (s *server) WithLogger(klog.Logger) eventRecorderLogger { return s }

// setRecorders makes all recorders of Events of a controller the server.
func setRecorders(value reflect.Value, s *server, seen map[unsafe.Pointer]bool) {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() || seen[value.UnsafePointer()] || !isUpstreams(value.Type().Elem()) {
			return
		}
		seen[value.UnsafePointer()] = true
		setRecorders(value.Elem(), s, seen)
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Field(i).CanAddr() {
				setRecorders(writable(value.Field(i)), s, seen)
			}
		}
	case reflect.Interface:
		if value.IsNil() {
			return
		}
		if strings.HasSuffix(value.Type().String(), "record.EventRecorder") || strings.HasSuffix(value.Type().String(), "record.EventRecorderLogger") {
			value.Set(reflect.ValueOf(s))
			return
		}
		inner := value.Elem()
		if inner.Kind() == reflect.Struct && isUpstreams(inner.Type()) {
			changed := reflect.New(inner.Type()).Elem()
			changed.Set(inner)
			setRecorders(changed, s, seen)
			value.Set(changed)
		} else {
			setRecorders(inner, s, seen)
		}
	}
}

func isUpstreams(kind reflect.Type) bool {
	return strings.HasPrefix(kind.PkgPath(), "k8s.io/kubernetes/pkg/controller") || strings.HasPrefix(kind.PkgPath(), "k8s.io/endpointslice")
}

func writable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
}
