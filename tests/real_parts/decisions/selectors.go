package main

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

type selectorCase struct {
	Expression string `json:"expression"`
	Devices    []struct {
		Driver string             `json:"driver"`
		Device resourceapi.Device `json:"device"`
	} `json:"devices"`
}

type evaluation struct {
	Result *bool   `json:"result,omitempty"`
	Error  string  `json:"error,omitempty"`
	Cost   *uint64 `json:"cost,omitempty"`
	Varies bool    `json:"varies,omitempty"`
}

type selectorResult struct {
	CompileError    string       `json:"compile_error,omitempty"`
	OutputType      string       `json:"output_type,omitempty"`
	MaxCost         string       `json:"max_cost,omitempty"`
	TooExpensive    bool         `json:"too_expensive,omitempty"`
	CompileErrorNew string       `json:"compile_error_new,omitempty"`
	Results         []evaluation `json:"results,omitempty"`
}

// evaluateSelector compiles a selector as the API server and the scheduler do, and evaluates it.
func evaluateSelector(line []byte) (any, error) {
	var given selectorCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	features := dracel.Features{EnableConsumableCapacity: true}
	compiler := dracel.GetCompiler(features)
	stored := compiler.CompileCELExpression(given.Expression, dracel.Options{})
	if stored.Error != nil {
		return selectorResult{CompileError: stored.Error.Detail}, nil
	}
	result := selectorResult{OutputType: stored.OutputType.String(), MaxCost: "max"}
	if stored.MaxCost != math.MaxUint64 {
		result.MaxCost = strconv.FormatUint(stored.MaxCost, 10)
	}
	result.TooExpensive = stored.MaxCost > resourceapi.CELSelectorExpressionMaxCost
	envType := environment.NewExpressions
	if fresh := compiler.CompileCELExpression(given.Expression, dracel.Options{EnvType: &envType}); fresh.Error != nil {
		result.CompileErrorNew = fresh.Error.Detail
	}
	for _, each := range given.Devices {
		device := dracel.Device{
			Driver:                   each.Driver,
			AllowMultipleAllocations: each.Device.AllowMultipleAllocations,
			Attributes:               each.Device.Attributes,
			Capacity:                 each.Device.Capacity,
		}
		found := evaluate(stored, device)
		// Maps are iterated in random order, so costs and errors may differ.
		for range 7 {
			again := evaluate(stored, device)
			if found.Error != again.Error {
				found.Varies = true
			}
			if found.Cost != nil && *found.Cost != *again.Cost {
				found.Cost = nil
			}
		}
		result.Results = append(result.Results, found)
	}
	return result, nil
}

func evaluate(stored dracel.CompilationResult, device dracel.Device) evaluation {
	matches, details, err := stored.DeviceMatches(context.Background(), device)
	found := evaluation{Cost: details.ActualCost()}
	if err != nil {
		found.Error = err.Error()
	} else {
		found.Result = &matches
	}
	return found
}
