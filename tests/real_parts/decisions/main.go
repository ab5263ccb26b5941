// Decisions by kube-scheduler's own code, for comparison.
//
// The program reads one JSON document a line and writes one for each, in the same order:
//
//   - {"family": "mixed", "objects", "pod", "config"?}: one decision, answered with `expect` of the
//     vectors of single decisions, without what follows from the candidates of preemption.
//   - {"objects", "pod", "config"?}: one scheduling cycle, answered with the field `expect` of the
//     vectors of family dra, without candidates of preemption.
//   - {"expression", "devices"}: a device selector, answered with `expect` of family cel.
//   - {"family": "hints", ...}: a change, answered with `expect` of that family.
//   - {"family": "queue", ...}: the steps of a queue, answered with the list of each `expect`, in
//     nanoseconds.
//   - {"family": "quantities", ...}, {"family": "pod_requests", ...}: `expect` of that family.
//   - {"family": "config", "file"}: the fields that a case of that family has beside these.
//   - {"family": "extenders", ...}: `expect` of that family, without the candidates of preemption.
//   - {"family": "cycle" | "batching" | "gang", ...}: a trace of the whole scheduler, answered with the
//     list of each `expect`, in nanoseconds. It runs in a bubble of virtual time (testing/synctest).
//
// The scheduler is the one of k8s.io/kubernetes/pkg/scheduler with a client in memory; its steps
// run one after the other, over the nodes by name.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

// traceFamilies are traces of the whole scheduler.
var traceFamilies = []string{"batching", "cycle", "gang"}

type answer struct {
	Expect any    `json:"expect,omitempty"`
	Failed string `json:"failed,omitempty"`
}

func main() {
	parallel := flag.Int("parallel", 16, "cases decided at the same time; most of a case is waiting")
	gates := flag.String("feature-gates", "", "feature gates of the process, as the scheduler's flag")
	testing.Init()
	flag.Parse()
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	klog.SetLogger(logr.Discard())
	// The handlers of errors sleep by a clock that bubbles of virtual time do not share.
	utilruntime.ErrorHandlers = nil
	// A bubble of virtual time needs a test: the program is one, which ends the process.
	always := func(string, string) (bool, error) { return true, nil }
	testing.Main(always, []testing.InternalTest{{Name: "answers", F: func(t *testing.T) {
		program = t
		answerAll(*parallel)
	}}}, nil, nil)
}

// program is the test that the program runs as.
var program *testing.T

// answerAll answers the lines of the standard input.
func answerAll(parallel int) {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	pending := make(chan chan []byte, parallel)
	var written sync.WaitGroup
	written.Add(1)
	go func() {
		defer written.Done()
		for next := range pending {
			output.Write(<-next)
			output.WriteByte('\n')
			output.Flush()
		}
	}()
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			done := make(chan []byte, 1)
			pending <- done
			go func() { done <- decide(line) }()
		}
		if err != nil {
			break
		}
	}
	close(pending)
	written.Wait()
}

// decide answers one line; what cannot be decided is answered with a reason, never with nothing.
func decide(line []byte) []byte {
	var reply answer
	func() {
		defer func() {
			if reason := recover(); reason != nil {
				reply = answer{Failed: fmt.Sprintf("panic: %v\n%s", reason, debug.Stack())}
			}
		}()
		var kind struct {
			Expression *string `json:"expression"`
			Family     string  `json:"family"`
		}
		err := json.Unmarshal(line, &kind)
		switch {
		case err != nil:
		case kind.Expression != nil:
			reply.Expect, err = evaluateSelector(line)
		case kind.Family == "hints":
			reply.Expect, err = answerHints(line)
		case kind.Family == "queue":
			reply.Expect, err = replayQueue(line)
		case kind.Family == "quantities":
			reply.Expect, err = parseQuantities(line)
		case kind.Family == "pod_requests":
			reply.Expect, err = sumRequests(line)
		case slices.Contains(traceFamilies, kind.Family):
			reply.Expect, err = replayTrace(line)
		case kind.Family == "config":
			reply.Expect, err = readConfiguration(line)
		default:
			reply.Expect, err = decideCase(line)
		}
		if err != nil {
			reply = answer{Failed: err.Error()}
		}
	}()
	encoded, err := json.Marshal(reply)
	if err != nil {
		encoded, _ = json.Marshal(answer{Failed: err.Error()})
	}
	return encoded
}
