package main

import (
	"context"
	"reflect"
	"time"
	_ "unsafe"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotageneric "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	fakescale "k8s.io/client-go/scale/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/job"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

type eventRecorderLogger = record.EventRecorderLogger

// caches are the informers of a controller; they do not run.
type caches map[schema.GroupVersionResource]cache.SharedIndexInformer

type instance struct {
	controller any
	caches     caches
	sync       func(ctx context.Context, key string) error
	reset      func()
}

var makers = map[string]func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance{
	"deployment": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made, err := deployment.NewDeploymentController(ctx, all.Apps().V1().Deployments(), all.Apps().V1().ReplicaSets(), all.Core().V1().Pods(), s.client)
		must(err)
		return instance{made, known(all), func(ctx context.Context, key string) error { return syncDeployment(made, ctx, key) }, nil}
	},
	"replicaset": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made := replicaset.NewReplicaSetController(ctx, all.Apps().V1().ReplicaSets(), all.Core().V1().Pods(), s.client, replicaset.BurstReplicas)
		return instance{made, known(all), func(ctx context.Context, key string) error { return syncReplicaSet(made, ctx, key) }, func() {
			writable(reflect.ValueOf(made).Elem().FieldByName("expectations")).Set(reflect.ValueOf(controller.NewUIDTrackingControllerExpectations(controller.NewControllerExpectations())))
		}}
	},
	"statefulset": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made := statefulset.NewStatefulSetController(ctx, all.Core().V1().Pods(), all.Apps().V1().StatefulSets(), all.Core().V1().PersistentVolumeClaims(), all.Apps().V1().ControllerRevisions(), s.client)
		return instance{made, known(all), func(ctx context.Context, key string) error { return syncStatefulSet(made, ctx, key) }, nil}
	},
	"daemonset": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made, err := daemon.NewDaemonSetsController(ctx, all.Apps().V1().DaemonSets(), all.Apps().V1().ControllerRevisions(), all.Core().V1().Pods(), all.Core().V1().Nodes(), s.client, flowcontrol.NewBackOff(time.Second, 15*time.Minute))
		must(err)
		return instance{made, known(all), func(ctx context.Context, key string) error { return syncDaemonSet(made, ctx, key) }, func() {
			writable(reflect.ValueOf(made).Elem().FieldByName("expectations")).Set(reflect.ValueOf(controller.NewControllerExpectations()))
		}}
	},
	"job": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made, err := job.NewController(ctx, s.client, all.Core().V1().Pods(), all.Batch().V1().Jobs(), nil, nil)
		must(err)
		return instance{made, known(all), func(ctx context.Context, key string) error {
			if err := syncJob(made, ctx, key); err != nil {
				return err
			}
			// Changes of a finished job, and of pods without a job, have pods synced as orphans.
			isFinished := false
			for _, obj := range s.list(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}) {
				if one := obj.(*batchv1.Job); jobutil.IsJobFinished(one) {
					isFinished = true
					must(syncPodsOfFinishedJob(made, ctx, one.Namespace, metav1.FormatLabelSelector(one.Spec.Selector)))
				}
			}
			for _, obj := range s.list(schema.GroupVersionResource{Version: "v1", Resource: "pods"}) {
				pod := obj.(*v1.Pod)
				if metav1.GetControllerOf(pod) == nil || isFinished && pod.DeletionTimestamp != nil {
					must(syncOrphan(made, ctx, pod))
				}
			}
			return nil
		}, func() {
			writable(reflect.ValueOf(made).Elem().FieldByName("expectations")).Set(reflect.ValueOf(controller.NewControllerExpectations()))
			finalizers := writable(reflect.ValueOf(made).Elem().FieldByName("finalizerExpectations")).Elem()
			must(writable(finalizers.FieldByName("store")).Interface().(cache.Store).Replace(nil, ""))
		}}
	},
	"disruption": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made := disruption.NewDisruptionController(ctx, all.Core().V1().Pods(), all.Policy().V1().PodDisruptionBudgets(), all.Core().V1().ReplicationControllers(), all.Apps().V1().ReplicaSets(), all.Apps().V1().Deployments(), all.Apps().V1().StatefulSets(), s.client, testrestmapper.TestOnlyStaticRESTMapper(scheme.Scheme), &fakescale.FakeScaleClient{}, s.client.Discovery())
		return instance{made, known(all), func(ctx context.Context, key string) error { return syncBudget(made, ctx, key) }, nil}
	},
	"endpointslice": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		made := endpointslice.NewController(ctx, all.Core().V1().Pods(), all.Core().V1().Services(), all.Core().V1().Nodes(), all.Discovery().V1().EndpointSlices(), 3, s.client, 0)
		return instance{made, known(all), func(_ context.Context, key string) error { return syncService(made, klog.Logger{}, key) }, nil}
	},
	"garbagecollector": newCollector,
	"quota": func(ctx context.Context, s *server, all informers.SharedInformerFactory) instance {
		quotas := all.Core().V1().ResourceQuotas()
		found := known(all)
		lister := func(resource schema.GroupVersionResource) (cache.GenericLister, error) {
			informer, err := all.ForResource(resource)
			if err != nil {
				return nil, err
			}
			// A counted kind is listed on the first sync, after the caches were filled.
			if _, ok := found[resource]; !ok {
				found[resource] = informer.Informer()
				s.fill(caches{resource: informer.Informer()})
			}
			return informer.Lister(), nil
		}
		configuration, err := quotainstall.NewQuotaConfigurationForControllers(lister, all)
		must(err)
		made, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
			QuotaClient:           s.client.CoreV1(),
			ResourceQuotaInformer: quotas,
			ResyncPeriod:          controller.NoResyncPeriodFunc,
			Registry:              quotageneric.NewRegistry(configuration.Evaluators()),
		})
		must(err)
		found[schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}] = quotas.Informer()
		return instance{made, found, func(ctx context.Context, key string) error { return syncQuota(made, ctx, key) }, nil}
	},
}

// known returns the informers of the kinds that controllers here read.
func known(all informers.SharedInformerFactory) caches {
	return caches{
		{Version: "v1", Resource: "pods"}:                                      all.Core().V1().Pods().Informer(),
		{Version: "v1", Resource: "nodes"}:                                     all.Core().V1().Nodes().Informer(),
		{Version: "v1", Resource: "services"}:                                  all.Core().V1().Services().Informer(),
		{Version: "v1", Resource: "persistentvolumeclaims"}:                    all.Core().V1().PersistentVolumeClaims().Informer(),
		{Group: "apps", Version: "v1", Resource: "deployments"}:                all.Apps().V1().Deployments().Informer(),
		{Group: "apps", Version: "v1", Resource: "replicasets"}:                all.Apps().V1().ReplicaSets().Informer(),
		{Group: "apps", Version: "v1", Resource: "statefulsets"}:               all.Apps().V1().StatefulSets().Informer(),
		{Group: "apps", Version: "v1", Resource: "controllerrevisions"}:        all.Apps().V1().ControllerRevisions().Informer(),
		{Group: "apps", Version: "v1", Resource: "daemonsets"}:                 all.Apps().V1().DaemonSets().Informer(),
		{Group: "batch", Version: "v1", Resource: "jobs"}:                      all.Batch().V1().Jobs().Informer(),
		{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}:     all.Policy().V1().PodDisruptionBudgets().Informer(),
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}: all.Discovery().V1().EndpointSlices().Informer(),
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

//go:linkname syncDeployment k8s.io/kubernetes/pkg/controller/deployment.(*DeploymentController).syncDeployment
func syncDeployment(made *deployment.DeploymentController, ctx context.Context, key string) error

//go:linkname syncReplicaSet k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).syncReplicaSet
func syncReplicaSet(made *replicaset.ReplicaSetController, ctx context.Context, key string) error

//go:linkname syncStatefulSet k8s.io/kubernetes/pkg/controller/statefulset.(*StatefulSetController).sync
func syncStatefulSet(made *statefulset.StatefulSetController, ctx context.Context, key string) error

//go:linkname syncDaemonSet k8s.io/kubernetes/pkg/controller/daemon.(*DaemonSetsController).syncDaemonSet
func syncDaemonSet(made *daemon.DaemonSetsController, ctx context.Context, key string) error

//go:linkname syncJob k8s.io/kubernetes/pkg/controller/job.(*Controller).syncJob
func syncJob(made *job.Controller, ctx context.Context, key string) error

//go:linkname syncPodsOfFinishedJob k8s.io/kubernetes/pkg/controller/job.(*Controller).syncOrphanPodsBySelector
func syncPodsOfFinishedJob(made *job.Controller, ctx context.Context, namespace, selector string) error

//go:linkname syncOrphan k8s.io/kubernetes/pkg/controller/job.(*Controller).handleSingleOrphanPod
func syncOrphan(made *job.Controller, ctx context.Context, pod *v1.Pod) error

//go:linkname syncBudget k8s.io/kubernetes/pkg/controller/disruption.(*DisruptionController).sync
func syncBudget(made *disruption.DisruptionController, ctx context.Context, key string) error

//go:linkname syncService k8s.io/kubernetes/pkg/controller/endpointslice.(*Controller).syncService
func syncService(made *endpointslice.Controller, logger klog.Logger, key string) error

//go:linkname syncQuota k8s.io/kubernetes/pkg/controller/resourcequota.(*Controller).syncResourceQuotaFromKey
func syncQuota(made *resourcequota.Controller, ctx context.Context, key string) error
