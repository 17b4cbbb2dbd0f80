// Command builtin-table writes the facts about Kubernetes' built-in types that the API server needs, as compact JSON, from the
// published API modules: field names, protobuf numbers, pointers, merge keys, list types. It copies no prose.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type table struct {
	Source  string              `json:"source"`
	License string              `json:"license"`
	Kinds   []kind              `json:"kinds"`
	Types   map[string][]string `json:"types"`
}

type kind struct {
	Group      string   `json:"g"`
	Version    string   `json:"v"`
	Kind       string   `json:"k"`
	Type       string   `json:"t"`
	Resource   string   `json:"r,omitempty"`
	Namespaced bool     `json:"n,omitempty"`
	Short      []string `json:"s,omitempty"`
	Categories []string `json:"c,omitempty"`
	Status     bool     `json:"st,omitempty"`
	Scale      bool     `json:"sc,omitempty"`
}

var types = map[string][]string{}

func main() {
	s := scheme.Scheme
	must(apiextensions.AddToScheme(s))
	must(apiregistration.AddToScheme(s))
	lists := listTypes()
	out := table{License: "Apache-2.0", Types: types}
	info, _ := debug.ReadBuildInfo()
	var sources []string
	for _, dep := range info.Deps {
		switch dep.Path {
		case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator":
			sources = append(sources, dep.Path+"@"+dep.Version)
		}
	}
	sort.Strings(sources)
	out.Source = strings.Join(sources, " ")
	for _, r := range resources {
		t, ok := s.AllKnownTypes()[schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}]
		if !ok {
			panic(fmt.Sprintf("no type %v", r))
		}
		r.Type = name(t)
		visit(t, lists)
		out.Kinds = append(out.Kinds, r)
	}
	for _, t := range []any{metav1.DeleteOptions{}, metav1.Status{}} {
		visit(reflect.TypeOf(t), lists)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must(encoder.Encode(out))
}

// name is the type's name in OpenAPI: io.k8s.api.core.v1.PodSpec.
func name(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, append(path[1:], t.Name())...), ".")
}

// A field is "json name|protobuf number|type|flags": flags are p pointer, o omitempty, r required, i inline;
// then merge key m=, patch strategies s=, list type l= with keys k= and defaults d=.
func visit(t reflect.Type, lists map[string]listInfo) {
	id := name(t)
	if _, seen := types[id]; seen {
		return
	}
	types[id] = []string{}
	var fields []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.PkgPath != "" {
			continue
		}
		tag := strings.Split(f.Tag.Get("json"), ",")
		jsonName := tag[0]
		if jsonName == "-" {
			continue
		}
		has := func(option string) bool {
			for _, o := range tag[1:] {
				if o == option {
					return true
				}
			}
			return false
		}
		number := "0"
		if p := strings.Split(f.Tag.Get("protobuf"), ","); len(p) > 1 {
			number = p[1]
		}
		flags := ""
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			flags += "p"
		}
		inline := has("inline") || (f.Anonymous && jsonName == "")
		if inline {
			flags += "i"
			jsonName = ""
		} else if has("omitempty") || has("omitzero") {
			flags += "o"
		} else if ft.Kind() != reflect.Pointer {
			flags += "r"
		}
		if inline && f.Name == "TypeMeta" {
			continue
		}
		entry := []string{jsonName, number, typeOf(ft, lists), flags}
		if k := f.Tag.Get("patchMergeKey"); k != "" {
			entry = append(entry, "m="+k)
		}
		if st := f.Tag.Get("patchStrategy"); st != "" {
			entry = append(entry, "s="+st)
		}
		if l, ok := lists[id+"/"+jsonName]; ok {
			entry = append(entry, "l="+l.kind)
			if len(l.keys) > 0 {
				entry = append(entry, "k="+strings.Join(l.keys, ","))
			}
			if len(l.defaults) > 0 {
				entry = append(entry, "d="+strings.Join(l.defaults, ","))
			}
		}
		fields = append(fields, strings.Join(entry, "|"))
	}
	types[id] = fields
}

func typeOf(t reflect.Type, lists map[string]listInfo) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeOf(metav1.Time{}):
		return "time"
	case reflect.TypeOf(metav1.MicroTime{}):
		return "microtime"
	case reflect.TypeOf(metav1.Duration{}):
		return "duration"
	case reflect.TypeOf(resource.Quantity{}):
		return "quantity"
	case reflect.TypeOf(intstr.IntOrString{}):
		return "intstr"
	case reflect.TypeOf(runtime.RawExtension{}):
		return "raw"
	case reflect.TypeOf(metav1.FieldsV1{}):
		return "fields"
	case reflect.TypeOf(apiextensions.JSON{}):
		return "json"
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrBool{}):
		return "schemaOrBool"
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrArray{}):
		return "schemaOrArray"
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrStringArray{}):
		return "schemaOrStrings"
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[" + typeOf(t.Elem(), lists)
	case reflect.Map:
		return "{" + typeOf(t.Elem(), lists)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Uint32:
		return "int32"
	case reflect.Int64, reflect.Int, reflect.Uint64, reflect.Uint8:
		return "int64"
	case reflect.Float64, reflect.Float32:
		return "double"
	case reflect.Struct:
		visit(t, lists)
		return "@" + name(t)
	}
	panic("type " + t.String())
}

type listInfo struct {
	kind     string
	keys     []string
	defaults []string
}

// listTypes reads list types, map keys and structs that are atomic from the schema in client-go's apply configurations.
func listTypes() map[string]listInfo {
	dir := moduleDir("k8s.io/client-go")
	text, err := os.ReadFile(filepath.Join(dir, "applyconfigurations/internal/internal.go"))
	must(err)
	out := map[string]listInfo{}
	current, field := "", ""
	inDefaults := false
	pending := listInfo{}
	inKeys := false
	flush := func() {
		if current != "" && field != "" && pending.kind != "" {
			out[current+"/"+field] = pending
		}
		pending = listInfo{}
		inKeys = false
	}
	defaults := map[string]map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(line, "- name: "):
			flush()
			current, field = strings.TrimPrefix(line, "- name: "), ""
		case indent == 4 && strings.HasPrefix(trimmed, "- name: "):
			flush()
			field = strings.TrimPrefix(trimmed, "- name: ")
		case indent == 6 && strings.HasPrefix(trimmed, "default: "):
			if defaults[current] == nil {
				defaults[current] = map[string]string{}
			}
			defaults[current][field] = strings.TrimPrefix(trimmed, "default: ")
		case strings.HasPrefix(trimmed, "elementRelationship: "):
			pending.kind = strings.TrimPrefix(trimmed, "elementRelationship: ")
		case trimmed == "keys:":
			inKeys = true
		case inKeys && strings.HasPrefix(trimmed, "- "):
			pending.keys = append(pending.keys, strings.TrimPrefix(trimmed, "- "))
		case inKeys:
			inKeys = false
		}
		_ = inDefaults
	}
	flush()
	for key, info := range out {
		if info.kind == "associative" && len(info.keys) == 0 {
			info.kind = "set"
		} else if info.kind == "associative" {
			info.kind = "map"
		}
		if len(info.keys) > 0 && info.keys[len(info.keys)-1] == "protocol" {
			info.defaults = []string{"protocol=" + strconv.Quote("TCP")}
		}
		out[key] = info
	}
	return out
}

func moduleDir(path string) string {
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		must(err)
		cache = filepath.Join(home, "go/pkg/mod")
		if gopath := os.Getenv("GOPATH"); gopath != "" {
			cache = filepath.Join(gopath, "pkg/mod")
		}
	}
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		if dep.Path == path {
			return filepath.Join(cache, path+"@"+dep.Version)
		}
	}
	panic("no module " + path)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
