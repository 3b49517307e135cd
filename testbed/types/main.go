// Prints how the Go types of the Kubernetes API decode and encode: one line per kind, named type and struct field.
// The API server simulation reads it: cd testbed/kube && go run ../types/main.go > ../../crates/apiserver/src/wire/types.txt
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	agg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "!quantity",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "!time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "!microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "!duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "!fields",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "!intorstring",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "!raw",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "!json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "!schema-or-bool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "!schema-or-array",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "!schema-or-strings",
}

var structs = map[string][]string{}
var named = map[string]string{}

func id(t reflect.Type) string {
	p := t.PkgPath()
	parts := strings.Split(p, "/")
	if parts[0] == "k8s.io" {
		parts[0] = "io.k8s"
	}
	return strings.Join(parts, ".") + "." + t.Name()
}

func expr(t reflect.Type) string {
	full := t.PkgPath() + "." + t.Name()
	if s, ok := special[full]; ok {
		return s
	}
	if t.Kind() == reflect.Struct {
		if t.Name() == "" {
			panic("anonymous struct")
		}
		visit(t)
		return "#" + id(t)
	}
	if t.PkgPath() != "" {
		n := id(t)
		if _, ok := named[n]; !ok {
			named[n] = ""
			named[n] = raw(t)
		}
		return "=" + n
	}
	return raw(t)
}

func raw(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + expr(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + expr(t.Elem())
	case reflect.Map:
		return "map[" + expr(t.Key()) + "]" + expr(t.Elem())
	case reflect.Interface:
		return "any"
	}
	return t.Kind().String()
}

func visit(t reflect.Type) {
	n := id(t)
	if _, ok := structs[n]; ok {
		return
	}
	structs[n] = nil
	var fields []string
	walk(t, "", "", &fields)
	structs[n] = fields
}

// number is a field's number in protobuf, or nothing.
func number(f reflect.StructField) string {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func walk(t reflect.Type, prefix, numbers string, out *[]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() {
			continue
		}
		parts := strings.Split(tag, ",")
		if f.Anonymous && parts[0] == "" {
			ft := f.Type
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			p := f.Name
			if prefix != "" {
				p = prefix + "." + p
			}
			// An embedded struct without a number is not sent at all.
			n := "-"
			if number(f) != "" && numbers != "-" {
				n = numbers + number(f) + "."
			}
			walk(ft, p, n, out)
			continue
		}
		name := parts[0]
		if name == "" {
			name = f.Name
		}
		flags := ""
		for _, o := range parts[1:] {
			switch o {
			case "omitempty":
				flags += "e"
			case "omitzero":
				flags += "z"
			case "string":
				flags += "s"
			}
		}
		if flags == "" {
			flags = "-"
		}
		if n := number(f); n != "" && numbers != "-" {
			flags += ":" + numbers + n
		}
		line := name + " " + flags + " " + expr(f.Type)
		strategy, key := f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")
		switch {
		case strategy != "" || key != "":
			if prefix == "" {
				prefix = "."
			}
			line += " " + prefix + " " + strategy + ":" + key
			if prefix == "." {
				prefix = ""
			}
		case prefix != "":
			line += " " + prefix
		}
		*out = append(*out, line)
	}
}

func main() {
	s := runtime.NewScheme()
	_ = scheme.AddToScheme(s)
	_ = apiext.AddToScheme(s)
	_ = agg.AddToScheme(s)
	var kinds []string
	for gvk, t := range s.AllKnownTypes() {
		if gvk.Version == "__internal" {
			continue
		}
		stable := !strings.Contains(gvk.Version, "alpha") && !strings.Contains(gvk.Version, "beta")
		options := strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "WatchEvent"
		if options && gvk.Group != "" {
			continue
		}
		if stable && !strings.HasSuffix(gvk.Kind, "List") {
			kinds = append(kinds, fmt.Sprintf("kind %s %s %s", gvk.Kind, gvk.GroupVersion().String(), id(t)))
			visit(t)
		} else {
			kinds = append(kinds, fmt.Sprintf("kind %s %s -", gvk.Kind, gvk.GroupVersion().String()))
		}
	}
	sort.Strings(kinds)
	w := os.Stdout
	for _, k := range kinds {
		fmt.Fprintln(w, k)
	}
	var names []string
	for n := range named {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintln(w, "type", n, named[n])
	}
	names = names[:0]
	for n := range structs {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintln(w, "struct", n)
		for _, f := range structs[n] {
			fmt.Fprintln(w, " "+f)
		}
	}
}
