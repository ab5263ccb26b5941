// Values and costs of expressions by the libraries of kube-apiserver.
//
// The program reads a JSON document a line, {"expression", "limit"?}, and writes one for each: what
// is wrong with the expression, or its type, its estimated cost, its value or error, and its cost.
// The variables are those of `VARIABLES` in __init__.py, given as the first line.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type question struct {
	Expression string `json:"expression"`
	Limit      uint64 `json:"limit"`
}

type answer struct {
	Problem string     `json:"problem,omitempty"`
	Type    string     `json:"type,omitempty"`
	Bounds  *[2]string `json:"bounds,omitempty"`
	Value   string     `json:"value,omitempty"`
	Error   string     `json:"error,omitempty"`
	Cost    *uint64    `json:"cost,omitempty"`
	Panic   bool       `json:"panic,omitempty"`
}

// sizes knows no sizes of variables.
type sizes struct{ library.CostEstimator }

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	input.Scan()
	var variables map[string]any
	if err := json.Unmarshal(input.Bytes(), &variables); err != nil {
		panic(err)
	}
	// JSON has no integers.
	for _, name := range []string{"n", "zero"} {
		variables[name] = int64(variables[name].(float64))
	}
	variables["l"] = integers(variables["l"].([]any))
	ones := map[string]int64{}
	for key, value := range variables["m"].(map[string]any) {
		ones[key] = int64(value.(float64))
	}
	variables["m"] = ones
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions: []cel.EnvOption{
			cel.Variable("x", cel.DynType),
			cel.Variable("n", cel.IntType),
			cel.Variable("zero", cel.IntType),
			cel.Variable("s", cel.StringType),
			cel.Variable("l", cel.ListType(cel.IntType)),
			cel.Variable("m", cel.MapType(cel.StringType, cel.IntType)),
		},
	})
	if err != nil {
		panic(err)
	}
	env, err := set.Env(environment.StoredExpressions)
	if err != nil {
		panic(err)
	}
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for input.Scan() {
		var given question
		if err := json.Unmarshal(input.Bytes(), &given); err != nil {
			panic(err)
		}
		if err := encoder.Encode(answered(env, given, variables)); err != nil {
			panic(err)
		}
	}
}

func integers(values []any) []int64 {
	found := []int64{}
	for _, value := range values {
		found = append(found, int64(value.(float64)))
	}
	return found
}

// answered returns what is made of an expression; of one that upstream panics on, that it does.
func answered(env *cel.Env, given question, variables map[string]any) (result answer) {
	defer func() {
		if reason := recover(); reason != nil {
			result = answer{Panic: true}
		}
	}()
	ast, issues := env.Compile(given.Expression)
	if issues != nil && issues.Err() != nil {
		return answer{Problem: issues.String()}
	}
	result = answer{Type: ast.OutputType().String()}
	estimator := sizes{library.CostEstimator{SizeEstimator: &unknown{}}}
	if bounds, err := env.EstimateCost(ast, &estimator.CostEstimator); err == nil {
		result.Bounds = &[2]string{number(bounds.Min), number(bounds.Max)}
	}
	limit := given.Limit
	if limit == 0 {
		limit = 1 << 40
	}
	program, err := env.Program(ast, cel.CostLimit(limit), cel.CostTracking(&library.CostEstimator{}))
	if err != nil {
		result.Error = "program: " + err.Error()
		return result
	}
	value, details, err := program.Eval(variables)
	if details != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.Error = err.Error()
	} else {
		result.Value = text(value)
	}
	return result
}

func number(value uint64) string {
	if value == math.MaxUint64 {
		return "max"
	}
	return fmt.Sprint(value)
}

type unknown struct{}

func (*unknown) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }

func (*unknown) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	return nil
}

// exact writes the number of a quantity as a fraction.
func exact(quantity *resource.Quantity) string {
	decimal := quantity.DeepCopy()
	dec := decimal.AsDec()
	ten := new(big.Int).Exp(big.NewInt(10), new(big.Int).Abs(big.NewInt(int64(dec.Scale()))), nil)
	number := new(big.Rat).SetInt(dec.UnscaledBig())
	if dec.Scale() > 0 {
		number.Quo(number, new(big.Rat).SetInt(ten))
	} else {
		number.Mul(number, new(big.Rat).SetInt(ten))
	}
	return "quantity " + number.RatString()
}

// text writes a value as `text_of` of __init__.py does.
func text(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprint(bool(v))
	case types.Int:
		return fmt.Sprint(int64(v))
	case types.Uint:
		return fmt.Sprintf("%du", uint64(v))
	case types.Double:
		if math.IsNaN(float64(v)) {
			return "double nan"
		}
		return fmt.Sprintf("double %016x", math.Float64bits(float64(v)))
	case types.String:
		return "string " + hex.EncodeToString([]byte(string(v)))
	case types.Bytes:
		return "bytes " + hex.EncodeToString([]byte(v))
	case types.Duration:
		return fmt.Sprintf("duration %d", v.Duration.Nanoseconds())
	case types.Timestamp:
		return fmt.Sprintf("timestamp %d %d", v.Unix(), v.Nanosecond())
	case *types.Optional:
		if !v.HasValue() {
			return "none"
		}
		return "optional(" + text(v.GetValue()) + ")"
	case *types.Type:
		return "type " + v.TypeName()
	case apiservercel.Quantity:
		return exact(v.Quantity)
	case *apiservercel.Quantity:
		return exact(v.Quantity)
	case apiservercel.Semver:
		version := v.Version
		version.Build = nil
		return "semver " + version.String()
	case apiservercel.IP:
		return "ip " + v.Addr.String()
	case apiservercel.CIDR:
		return "cidr " + v.Prefix.String()
	case apiservercel.URL:
		return "url " + v.URL.String()
	case traits.Lister:
		parts := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			parts = append(parts, text(it.Next()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case traits.Mapper:
		parts := []string{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			parts = append(parts, text(key)+": "+text(v.Get(key)))
		}
		sort.Strings(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "type " + value.Type().TypeName()
}
