package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

//go:linkname findFitting k8s.io/kubernetes/pkg/scheduler.(*Scheduler).findNodesThatFitPod
func findFitting(*scheduler.Scheduler, context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo) (
	[]fwk.NodeInfo, framework.Diagnosis, string, error)

//go:linkname prioritize k8s.io/kubernetes/pkg/scheduler.prioritizeNodes
func prioritize(context.Context, []fwk.Extender, framework.Framework, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (
	[]fwk.NodePluginScores, error)

//go:linkname bindByExtender k8s.io/kubernetes/pkg/scheduler.(*Scheduler).extendersBinding
func bindByExtender(*scheduler.Scheduler, klog.Logger, *v1.Pod, string) (bool, error)

// extenderRule is how an extender answers a verb; empty: plainly.
type extenderRule struct {
	Fails        bool              `json:"drop"`
	Milliseconds int               `json:"delay_ms"`
	Status       int               `json:"status"`
	Raw          *string           `json:"raw"`
	Error        string            `json:"error"`
	Failed       map[string]string `json:"failed"`
	Unresolvable map[string]string `json:"unresolvable"`
	Nodes        *[]string         `json:"nodes"`
	Form         string            `json:"form"`
	Scores       [][2]any          `json:"scores"`
	Keep         *[]string         `json:"keep"`
	Victims      map[string]struct {
		UIDs       []string `json:"uids"`
		Violations int      `json:"pdb_violations"`
	} `json:"victims"`
}

// extenderServers answers the requests to all extenders in their place.
type extenderServers struct {
	verbs    []map[string]string
	rules    []map[string]extenderRule
	mutex    sync.Mutex
	requests []document
}

// intercept replaces the connections of the extenders, whose hosts are named extender-0 and so on.
func (c *cluster) intercept(config json.RawMessage, rules []map[string]extenderRule) (*extenderServers, error) {
	var given struct {
		Extenders []map[string]any `json:"extenders"`
	}
	if err := json.Unmarshal(config, &given); err != nil {
		return nil, err
	}
	servers := &extenderServers{rules: rules}
	for _, each := range given.Extenders {
		verbs := map[string]string{}
		for _, verb := range []string{"filter", "prioritize", "preempt", "bind"} {
			if path, ok := each[verb+"Verb"].(string); ok {
				verbs[path] = verb
			}
		}
		servers.verbs = append(servers.verbs, verbs)
	}
	for _, each := range c.scheduler.Extenders {
		client := field(reflect.ValueOf(each).Elem(), "client").Interface().(*http.Client)
		client.Transport = servers
	}
	return servers, nil
}

// indexOf returns the index of the extender that a URL or host names.
func indexOf(url string) int {
	_, rest, _ := strings.Cut(url, "extender-")
	digits, _, _ := strings.Cut(rest, ".")
	index, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return index
}

func (s *extenderServers) RoundTrip(request *http.Request) (*http.Response, error) {
	text, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	index := indexOf(request.URL.Host)
	path := request.URL.Path
	verb := s.verbs[index][path[strings.LastIndex(path, "/")+1:]]
	withoutVersions(body)
	s.mutex.Lock()
	s.requests = append(s.requests, document{"extender": index, "verb": verb, "body": body})
	s.mutex.Unlock()
	rule := s.rules[index][verb]
	if rule.Fails || rule.Milliseconds > 0 {
		return nil, io.EOF
	}
	status := rule.Status
	if status == 0 {
		status = http.StatusOK
	}
	answer := []byte{}
	switch {
	case rule.Raw != nil:
		answer = []byte(*rule.Raw)
	case rule.Status == 0:
		answer, err = json.Marshal(rule.answer(verb, body))
		if err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d", status), Body: io.NopCloser(bytes.NewReader(answer)),
		Header: http.Header{}, Request: request,
	}, nil
}

// withoutVersions removes the versions of objects, which the client in memory needs.
func withoutVersions(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "resourceVersion")
		for _, each := range value {
			withoutVersions(each)
		}
	case []any:
		for _, each := range value {
			withoutVersions(each)
		}
	}
}

func (r *extenderRule) answer(verb string, body map[string]any) any {
	switch verb {
	case "filter":
		return r.filter(body)
	case "prioritize":
		scores := []document{}
		for _, each := range r.Scores {
			scores = append(scores, document{"Host": each[0], "Score": each[1]})
		}
		return scores
	case "preempt":
		return r.preempt(body)
	}
	return document{"Error": r.Error}
}

func (r *extenderRule) filter(body map[string]any) any {
	items, asked := map[string]any{}, []string{}
	nodes, hasNodes := body["Nodes"].(map[string]any)
	if hasNodes {
		list, _ := nodes["items"].([]any)
		for _, item := range list {
			name := item.(map[string]any)["metadata"].(map[string]any)["name"].(string)
			items[name] = item
			asked = append(asked, name)
		}
	}
	if names, ok := body["NodeNames"].([]any); ok {
		asked = nil
		for _, name := range names {
			asked = append(asked, name.(string))
		}
	}
	kept := []string{}
	for _, name := range asked {
		_, failed := r.Failed[name]
		_, unresolvable := r.Unresolvable[name]
		if !failed && !unresolvable {
			kept = append(kept, name)
		}
	}
	if r.Nodes != nil {
		kept = *r.Nodes
	}
	form := r.Form
	if form == "" {
		form = "node_names"
		if hasNodes {
			form = "nodes"
		}
	}
	answer := document{"FailedNodes": r.Failed, "FailedAndUnresolvableNodes": r.Unresolvable, "Error": r.Error}
	if form == "nodes" || form == "both" {
		list := []any{}
		for _, name := range kept {
			item, ok := items[name]
			if !ok {
				item = document{"metadata": document{"name": name}}
			}
			list = append(list, item)
		}
		answer["Nodes"] = document{"items": list}
	}
	if form == "node_names" || form == "both" {
		answer["NodeNames"] = kept
	}
	return answer
}

func (r *extenderRule) preempt(body map[string]any) any {
	proposed, _ := body["NodeNameToMetaVictims"].(map[string]any)
	if proposed == nil {
		proposed = map[string]any{}
		full, _ := body["NodeNameToVictims"].(map[string]any)
		for node, each := range full {
			victims := each.(map[string]any)
			pods := []document{}
			list, _ := victims["Pods"].([]any)
			for _, pod := range list {
				pods = append(pods, document{"UID": pod.(map[string]any)["metadata"].(map[string]any)["uid"]})
			}
			proposed[node] = document{"Pods": pods, "NumPDBViolations": victims["NumPDBViolations"]}
		}
	}
	answer := document{}
	for node, victims := range proposed {
		if r.Keep == nil || slices.Contains(*r.Keep, node) {
			answer[node] = victims
		}
	}
	for node, other := range r.Victims {
		pods := []document{}
		for _, uid := range other.UIDs {
			pods = append(pods, document{"UID": uid})
		}
		answer[node] = document{"Pods": pods, "NumPDBViolations": other.Violations}
	}
	return document{"NodeNameToMetaVictims": answer}
}

// decideExtended answers with `expect` of family extenders, without the candidates of preemption.
func (c *cluster) decideExtended(ctx context.Context, servers *extenderServers) (any, error) {
	expect := document{"feasible": []string{}, "winners": []string{}}
	defer func() {
		sort.SliceStable(servers.requests, func(i, j int) bool {
			one, other := servers.requests[i], servers.requests[j]
			both := one["verb"] == "prioritize" && other["verb"] == "prioritize"
			return both && one["extender"].(int) < other["extender"].(int)
		})
		expect["requests"] = append([]document{}, servers.requests...)
	}()
	podInfo, err := framework.NewPodInfo(c.pod)
	if err != nil {
		return nil, err
	}
	queued := &framework.QueuedPodInfo{PodInfo: podInfo}
	state := framework.NewCycleState()
	a := c.filter(ctx, c.nodes)
	expect["prefilter"] = preFilterDocument(a)
	expect["skipped_filter"] = sortedNames(a)
	found, diagnosis, _, err := findFitting(c.scheduler, ctx, c.framework, state, queued)
	rejected := map[string]*fwk.Status{}
	if diagnosis.NodeToStatus != nil {
		diagnosis.NodeToStatus.ForEachExplicitNode(func(name string, status *fwk.Status) {
			rejected[name] = status
		})
	}
	if err != nil {
		expect["error"] = err.Error()
		if len(a.rejected) > 0 {
			expect["filter"] = rejectedDocument(a.rejected)
		}
		return expect, nil
	}
	if len(found) == 0 {
		unfit := &framework.FitError{Pod: c.pod, NumAllNodes: len(c.nodes), Diagnosis: diagnosis}
		c.rejectSingle(ctx, state, unfit, expect)
		if preemption, ok := expect["preemption"].(document); ok {
			delete(preemption, "candidates")
		}
		return expect, nil
	}
	expect["feasible"] = sorted(namesOf(found))
	if len(rejected) > 0 {
		expect["filter"] = rejectedDocument(rejected)
	}
	return expect, c.scoreExtended(ctx, a, state, found, expect)
}

func sorted(names []string) []string {
	sort.Strings(names)
	return names
}

func sortedNames(a *attempt) []string {
	names := []string{}
	for name := range a.state.GetSkipFilterPlugins() {
		names = append(names, name)
	}
	return sorted(names)
}

func (c *cluster) scoreExtended(
	ctx context.Context, a *attempt, state fwk.CycleState, found []fwk.NodeInfo, expect document,
) error {
	winners := []string{found[0].Node().Name}
	if len(found) > 1 {
		scored, err := prioritize(ctx, c.scheduler.Extenders, c.framework, state, c.pod, found)
		if err != nil {
			expect["error"] = err.Error()
			return nil
		}
		a.feasible = found
		if _, err := c.score(ctx, a, expect); err != nil {
			return err
		}
		totals, byExtender, drawn := map[string]int64{}, map[string]map[string]int64{}, map[string]bool{}
		best := scored[0].TotalScore
		for _, node := range scored {
			totals[node.Name] = node.TotalScore
			best = max(best, node.TotalScore)
			drawn[node.Name] = node.Randomizer != 0
			// A node may have been answered twice: each has all scores.
			for _, scores := range byExtender {
				delete(scores, node.Name)
			}
			for _, score := range node.Scores {
				if !strings.Contains(score.Name, "://") {
					continue
				}
				index := strconv.Itoa(indexOf(score.Name))
				if byExtender[index] == nil {
					byExtender[index] = map[string]int64{}
				}
				byExtender[index][node.Name] += score.Score
			}
		}
		expect["total"] = totals
		if len(byExtender) > 0 {
			expect["extender_scores"] = byExtender
		}
		tied, first := []string{}, []string{}
		for name, total := range totals {
			if total == best {
				tied = append(tied, name)
				if drawn[name] {
					first = append(first, name)
				}
			}
		}
		winners = tied
		if len(first) > 0 && len(first) < len(tied) {
			expect["tied"], winners = sorted(tied), first
		}
	}
	expect["winners"] = sorted(winners)
	bound, err := bindByExtender(c.scheduler, klog.FromContext(ctx), c.pod, winners[0])
	bind := document{"node": winners[0], "by_extender": bound}
	if err != nil {
		bind["error"] = err.Error()
	}
	expect["bind"] = bind
	return nil
}
