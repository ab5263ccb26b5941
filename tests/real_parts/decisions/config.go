package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// readConfiguration answers the text of a file with the fields of family config.
func readConfiguration(line []byte) (any, error) {
	var given struct {
		File string `json:"file"`
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	output, err := effectiveConfiguration([]byte(given.File))
	if err != nil {
		return document{"accepted": false, "error": err.Error()}, nil
	}
	return document{"accepted": true, "output": output}, nil
}

// effectiveConfiguration does what kube-scheduler does with a file, up to --write-config-to.
func effectiveConfiguration(file []byte) (json.RawMessage, error) {
	object, kind, err := configscheme.Codecs.UniversalDecoder().Decode(file, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := object.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as KubeSchedulerConfiguration, got %s: ", kind)
	}
	config.TypeMeta.APIVersion = kind.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(config); err != nil {
		return nil, err
	}
	completed := []schedulerapi.KubeSchedulerProfile{}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	client := fake.NewSimpleClientset()
	recorders := func(string) events.EventRecorderLogger { return &recorder{} }
	_, err = scheduler.New(ctx, client, scheduler.NewInformerFactory(client, 0), nil, recorders,
		scheduler.WithComponentConfigVersion(config.TypeMeta.APIVersion),
		scheduler.WithProfiles(config.Profiles...),
		scheduler.WithPercentageOfNodesToScore(config.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(config.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(config.PodInitialBackoffSeconds),
		scheduler.WithExtenders(config.Extenders...),
		scheduler.WithParallelism(config.Parallelism),
		scheduler.WithBuildFrameworkCapturer(func(profile schedulerapi.KubeSchedulerProfile) {
			completed = append(completed, profile)
		}),
	)
	if err != nil {
		return nil, err
	}
	config.Profiles = completed
	info, _ := runtime.SerializerInfoForMediaType(
		configscheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	output := &bytes.Buffer{}
	encoder := configscheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion)
	err = encoder.Encode(config, output)
	return output.Bytes(), err
}
