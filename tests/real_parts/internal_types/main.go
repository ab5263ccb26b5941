// Writes src/podwright/apimachinery/schema/internal_types.json: the fields of the internal structs that
// kube-apiserver prints in messages, with their names in JSON where these are not the names in Go.
//
// In tests/real_parts: go run -mod=mod ./internal_types > ../../src/podwright/apimachinery/schema/internal_types.json
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

var marshaler = reflect.TypeFor[json.Marshaler]()

// Metadata that validation lets templates have.
var metadata = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers"}

var containers = []reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice}
var structs = map[string]string{}
var known = map[string]reflect.Type{}

func main() {
	scheme := legacyscheme.Scheme
	groups := []string{}
	for _, version := range scheme.PrioritizedVersionsAllGroups() {
		if !slices.Contains(groups, version.Group) {
			groups = append(groups, version.Group)
		}
	}
	// The group without a name is the first one: its types keep their names.
	slices.Sort(groups)
	for _, group := range groups {
		internals := scheme.KnownTypes(schema.GroupVersion{Group: group, Version: "__internal"})
		for _, version := range scheme.PrioritizedVersionsForGroup(group) {
			externals := scheme.KnownTypes(version)
			for _, kind := range slices.Sorted(maps.Keys(externals)) {
				internal, has := internals[kind]
				if _, isObject := externals[kind].FieldByName("ObjectMeta"); has && isObject {
					typeOf(internal, externals[kind])
				}
			}
		}
	}
	// Validation compares what other structs embed.
	typeOf(reflect.TypeFor[core.PersistentVolumeSource](), reflect.TypeFor[corev1.PersistentVolumeSource]())
	names := []string{}
	for name := range structs {
		names = append(names, name)
	}
	slices.Sort(names)
	lines := []string{}
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("%q:%q", name, structs[name]))
	}
	fmt.Printf("{\n%s\n}\n", strings.Join(lines, ",\n"))
}

// typeOf returns the text of a type; external is the one that has the names in JSON.
func typeOf(internal, external reflect.Type) string {
	switch internal.Kind() {
	case reflect.Pointer:
		return "*" + typeOf(internal.Elem(), element(external))
	case reflect.Map:
		return "{" + typeOf(internal.Elem(), element(external)) + "}"
	case reflect.Slice:
		if internal.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + typeOf(internal.Elem(), element(external)) + "]"
	case reflect.Struct:
		if internal.Implements(marshaler) || reflect.PointerTo(internal).Implements(marshaler) {
			return "!" + internal.Name()
		}
		name := internal.Name()
		if former, has := known[name]; has && former != internal {
			name = path.Base(internal.PkgPath()) + "." + name
		}
		if _, has := known[name]; !has {
			known[name] = internal
			structs[name] = strings.Join(fieldsOf(internal, external, ""), ",")
		}
		return name
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	}
	return "int"
}

func element(external reflect.Type) reflect.Type {
	if external != nil && slices.Contains(containers, external.Kind()) {
		return external.Elem()
	}
	return external
}

func fieldsOf(internal, external reflect.Type, within string) []string {
	for external != nil && external.Kind() == reflect.Pointer {
		external = external.Elem()
	}
	found := []string{}
	for i := range internal.NumField() {
		field := internal.Field(i)
		tag := field.Tag.Get("json")
		counterpart, has := reflect.StructField{}, false
		if external != nil && external.Kind() == reflect.Struct {
			counterpart, has = external.FieldByName(field.Name)
		}
		name, _, _ := strings.Cut(counterpart.Tag.Get("json"), ",")
		tagName, options, _ := strings.Cut(tag, ",")
		if field.Anonymous && tagName == "" {
			inner := external
			if has {
				inner = counterpart.Type
			}
			if name != "" {
				name += "."
			}
			found = append(found, fieldsOf(field.Type, inner, name)...)
			continue
		}
		goName, mark := field.Name, ""
		if tagName != "" {
			goName = tagName
		}
		if strings.Contains(options, "omitempty") {
			mark = "~"
		}
		if tagName == "-" {
			continue
		}
		if within == "metadata." && !slices.Contains(metadata, goName) {
			continue
		}
		text := mark + goName + " " + typeOf(field.Type, counterpart.Type)
		plain := strings.ToLower(goName[:1]) + goName[1:]
		// What the external object has elsewhere keeps the plain name.
		if has && within+name != plain {
			text += " " + within + name
		}
		found = append(found, text)
	}
	return found
}
