// Reads Kubernetes objects, one JSON line for each group of objects, and prints one JSON line with what each tool says about the first object of the group.
// The other objects of the group exist in the cluster that the tools see. The verdicts come from the own code of the tools.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	flux "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Each verdict is "ready", "failed", "waiting" or "none" (the tool has no rule for the kind).
type verdict struct {
	Verdict string `json:"verdict"`
	Message string `json:"message,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var group []map[string]any
		if err := json.Unmarshal(lines.Bytes(), &group); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		objects := make([]*unstructured.Unstructured, len(group))
		for i := range group {
			objects[i] = &unstructured.Unstructured{}
			// The decoder of Kubernetes reads whole numbers as integers. The one of the standard library reads them as floating-point numbers.
			text, _ := json.Marshal(group[i])
			if err := objects[i].UnmarshalJSON(text); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		said, _ := json.Marshal(map[string]verdict{
			"argo":    argo(objects[0]),
			"flux":    fluxSays(objects[0]),
			"kstatus": kstatusSays(objects[0]),
			"kubectl": kubectl(objects[0]),
			"helm3":   helm3(objects, false),
			"helm3jobs": helm3(objects, true),
		})
		fmt.Fprintln(out, string(said))
	}
}

func argo(object *unstructured.Unstructured) verdict {
	found, err := health.GetResourceHealth(object, nil)
	if err != nil {
		return verdict{"failed", err.Error()}
	}
	if found == nil {
		return verdict{"none", ""}
	}
	switch found.Status {
	case health.HealthStatusHealthy:
		return verdict{"ready", found.Message}
	case health.HealthStatusDegraded:
		return verdict{"failed", found.Message}
	default:
		return verdict{"waiting", string(found.Status) + " " + found.Message}
	}
}

func ofStatus(status string, message string) verdict {
	switch status {
	case "Current":
		return verdict{"ready", message}
	case "Failed":
		return verdict{"failed", message}
	default:
		return verdict{"waiting", message}
	}
}

func fluxSays(object *unstructured.Unstructured) verdict {
	result, err := flux.Compute(object)
	if err != nil {
		return verdict{"failed", err.Error()}
	}
	return ofStatus(result.Status.String(), result.Message)
}

func kstatusSays(object *unstructured.Unstructured) verdict {
	result, err := kstatus.Compute(object)
	if err != nil {
		return verdict{"failed", err.Error()}
	}
	return ofStatus(result.Status.String(), result.Message)
}

func kubectl(object *unstructured.Unstructured) verdict {
	viewer, err := polymorphichelpers.StatusViewerFor(object.GroupVersionKind().GroupKind())
	if err != nil {
		return verdict{"none", ""}
	}
	message, done, err := viewer.Status(object, 0)
	if err != nil && done {
		return verdict{"none", err.Error()}
	}
	if err != nil {
		return verdict{"failed", err.Error()}
	}
	if done {
		return verdict{"ready", message}
	}
	return verdict{"waiting", message}
}

func helm3(objects []*unstructured.Unstructured, jobs bool) verdict {
	typed := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		made, err := scheme.Scheme.New(object.GroupVersionKind())
		if err != nil {
			return verdict{"none", err.Error()}
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made); err != nil {
			return verdict{"failed", err.Error()}
		}
		typed = append(typed, made)
	}
	checker := kube.NewReadyChecker(fake.NewSimpleClientset(typed...), nil, kube.PausedAsReady(false), kube.CheckJobs(jobs))
	info := &resource.Info{Namespace: objects[0].GetNamespace(), Name: objects[0].GetName(), Object: typed[0]}
	ready, err := checker.IsReady(context.Background(), info)
	if err != nil {
		return verdict{"failed", err.Error()}
	}
	if ready {
		return verdict{"ready", ""}
	}
	return verdict{"waiting", ""}
}
