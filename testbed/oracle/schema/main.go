// Prints, of the OpenAPI document that kustomize's kyaml embeds, what strategic merges need: for every
// definition the fields through which a list that is merged by key can be reached, and the kinds. The
// form is described in crates/manifest/src/kustomize/schema/builtin.rs; run with
//
//	go run ./schema > ../../crates/manifest/src/kustomize/schema/kubernetes.txt
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

const prefix = "#/definitions/"

var definitions spec.Definitions

// merges says whether a list is merged, and by which keys.
func merges(s *spec.Schema) ([]string, bool) {
	rs := openapi.ResourceSchema{Schema: s}
	strategy, keys := rs.PatchStrategyAndKeyList()
	for _, part := range strings.Split(strategy, ",") {
		if part == "merge" {
			return keys, true
		}
	}
	return nil, false
}

// target names the definition that a schema refers to.
func target(s *spec.Schema) string {
	return strings.TrimPrefix(s.Ref.String(), prefix)
}

var useful = map[string]bool{}

// matters says whether the field has to be kept.
func matters(s *spec.Schema) bool {
	if _, ok := merges(s); ok {
		return true
	}
	if name := target(s); name != "" {
		return useful[name]
	}
	return false
}

// check refuses what the table has no form for.
func check(name string, s *spec.Schema) {
	values := s.AdditionalProperties
	if len(s.Properties) > 0 || values != nil && values.Schema != nil && matters(values.Schema) {
		fmt.Fprintln(os.Stderr, "a field with a structure of its own:", name)
		os.Exit(1)
	}
}

func main() {
	definitions = openapi.Schema().Definitions
	var names []string
	for name := range definitions {
		names = append(names, name)
	}
	sort.Strings(names)
	for changed := true; changed; {
		changed = false
		for _, name := range names {
			if useful[name] {
				continue
			}
			d := definitions[name]
			for _, field := range d.Properties {
				if matters(&field) {
					useful[name], changed = true, true
				}
			}
		}
	}
	kinds := map[string][]string{}
	for _, name := range names {
		d := definitions[name]
		list, _ := d.Extensions["x-kubernetes-group-version-kind"].([]interface{})
		for _, item := range list {
			gvk := item.(map[string]interface{})
			version := gvk["version"].(string)
			if group, _ := gvk["group"].(string); group != "" {
				version = group + "/" + version
			}
			kinds[name] = append(kinds[name], version+" "+gvk["kind"].(string))
		}
		sort.Strings(kinds[name])
	}
	for _, name := range names {
		if !useful[name] {
			continue
		}
		fmt.Println(name)
		for _, kind := range kinds[name] {
			fmt.Println(" @" + kind)
		}
		d := definitions[name]
		var fields []string
		for field := range d.Properties {
			fields = append(fields, field)
		}
		sort.Strings(fields)
		for _, field := range fields {
			s := d.Properties[field]
			check(name+"."+field, &s)
			if !matters(&s) {
				continue
			}
			keys, merged := merges(&s)
			to := target(&s)
			if merged && len(s.Type) == 1 && s.Type[0] == "array" {
				line := fmt.Sprintf(" %s [%s]", field, strings.Join(keys, ","))
				if s.Items != nil && useful[target(s.Items.Schema)] {
					line += " " + target(s.Items.Schema)
				}
				fmt.Println(line)
				continue
			}
			if to == "" || !useful[to] {
				continue
			}
			fmt.Printf(" %s %s\n", field, to)
		}
	}
}
