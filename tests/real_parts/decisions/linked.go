package main

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/klog/v2"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Private functions of upstream's queue, which its timers call.

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(queue *internalqueue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnschedulable k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushUnschedulable(queue *internalqueue.PriorityQueue, logger klog.Logger)

//go:linkname backoffTime k8s.io/kubernetes/pkg/scheduler/backend/queue.(*backoffQueue).getBackoffTime
func backoffTime(backoff unsafe.Pointer, info *framework.QueuedPodInfo) time.Time

func backoffOf(queue *internalqueue.PriorityQueue) unsafe.Pointer {
	return field(reflect.ValueOf(queue).Elem(), "backoffQ").Elem().UnsafePointer()
}
