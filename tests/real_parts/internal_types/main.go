// Writes src/podwright/schema/internal_types.json: the fields of the internal structs that
// kube-apiserver compares in messages, with their names in JSON where these are not the names in Go.
//
// In tests/real_parts: go run -mod=mod ./internal_types > ../../src/podwright/schema/internal_types.json
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
)

var marshaler = reflect.TypeFor[json.Marshaler]()

// Metadata that validation lets claim templates have.
var metadata = []string{"name", "generateName", "namespace", "labels", "annotations", "finalizers"}

var structs = map[string]string{}

func main() {
	typeOf(reflect.TypeFor[core.PodSpec](), reflect.TypeFor[corev1.PodSpec]())
	typeOf(reflect.TypeFor[core.PersistentVolumeSource](), reflect.TypeFor[corev1.PersistentVolumeSource]())
	typeOf(reflect.TypeFor[core.PersistentVolumeClaimSpec](), reflect.TypeFor[corev1.PersistentVolumeClaimSpec]())
	typeOf(reflect.TypeFor[certificates.CertificateSigningRequestCondition](),
		reflect.TypeFor[certificatesv1.CertificateSigningRequestCondition]())
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
		if _, known := structs[internal.Name()]; !known {
			structs[internal.Name()] = ""
			structs[internal.Name()] = strings.Join(fieldsOf(internal, external, ""), ",")
		}
		return internal.Name()
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	}
	return "int"
}

func element(external reflect.Type) reflect.Type {
	if external != nil && external.Kind() != reflect.Struct {
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
		counterpart, has := external.FieldByName(field.Name)
		name, _, _ := strings.Cut(counterpart.Tag.Get("json"), ",")
		if field.Anonymous && tag == "" {
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
		if tag != "" {
			goName, _, _ = strings.Cut(tag, ",")
			if strings.Contains(tag, "omitempty") {
				mark = "~"
			}
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
