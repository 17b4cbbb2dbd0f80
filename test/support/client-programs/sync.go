package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	fluxssa "github.com/fluxcd/pkg/ssa"
	fluxutils "github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed synced.yaml
var synced []byte

// objectsFor returns the objects of synced.yaml for a namespace.
func objectsFor(namespace string) ([]*unstructured.Unstructured, error) {
	objects, err := fluxutils.ReadObjects(bytes.NewReader(synced))
	for _, object := range objects {
		object.SetNamespace(namespace)
		object.SetLabels(map[string]string{"app.kubernetes.io/instance": namespace})
	}
	return objects, err
}

// fluxSync applies objects as Flux does, and asks for the drift afterwards.
func fluxSync(ctx context.Context, at target) error {
	objects, err := objectsFor(at.namespace)
	if err != nil {
		return err
	}
	of, err := client.New(at.config, client.Options{})
	if err != nil {
		return err
	}
	resources := fluxssa.NewResourceManager(of, nil, fluxssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	for _, round := range []string{"first", "second"} {
		changes, err := resources.ApplyAllStaged(ctx, objects, fluxssa.DefaultApplyOptions())
		if err != nil {
			return fmt.Errorf("%s apply: %w", round, err)
		}
		counts := map[fluxssa.Action]int{}
		for _, change := range changes.Entries {
			counts[change.Action]++
			if round == "second" && change.Action != fluxssa.UnchangedAction {
				return fmt.Errorf("%s is %s by the second apply", change.Subject, change.Action)
			}
		}
		passed("%s apply: %v", round, counts)
	}
	for _, object := range objects {
		change, _, _, err := resources.Diff(ctx, object, fluxssa.DefaultDiffOptions())
		if err != nil {
			return fmt.Errorf("diff of %s: %w", object.GetName(), err)
		}
		if change.Action != fluxssa.UnchangedAction {
			return fmt.Errorf("%s: %s", change.Subject, change.Action)
		}
	}
	passed("no drift in %d objects", len(objects))
	deleted, err := resources.DeleteAll(ctx, objects, fluxssa.DefaultDeleteOptions())
	if err != nil {
		return err
	}
	passed("deleted %d", len(deleted.Entries))
	return resources.WaitForTermination(objects, fluxssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: time.Minute})
}

// argoSync applies objects as `kubectl apply` does, and compares them with the live objects by the code of Argo CD.
func argoSync(ctx context.Context, at target) error {
	objects, err := objectsFor(at.namespace)
	if err != nil {
		return err
	}
	found := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(at.config))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(found)
	clients := dynamic.NewForConfigOrDie(at.config)
	for _, object := range objects {
		mapping, err := mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		resource := clients.Resource(mapping.Resource).Namespace(at.namespace)
		live, err := resource.Create(ctx, object, metav1.CreateOptions{FieldManager: "argocd-controller"})
		if err != nil {
			return fmt.Errorf("%s: %w", object.GetName(), err)
		}
		text, _ := object.MarshalJSON()
		applied, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "argocd-controller", Force: new(true)})
		if err != nil {
			return fmt.Errorf("apply of %s: %w", object.GetName(), err)
		}
		for name, state := range map[string]*unstructured.Unstructured{"created": live, "applied": applied} {
			result, err := diff.Diff(object.DeepCopy(), state.DeepCopy())
			if err != nil {
				return fmt.Errorf("diff of %s: %w", object.GetName(), err)
			}
			if result.Modified {
				return fmt.Errorf("%s %s: %s", object.GetKind(), name, strings.TrimSpace(string(result.PredictedLive)+"\n"+string(result.NormalizedLive)))
			}
		}
		dry, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "argocd-controller", Force: new(true), DryRun: []string{"All"}})
		if err != nil {
			return fmt.Errorf("dry run of %s: %w", object.GetName(), err)
		}
		if dry.GetResourceVersion() != applied.GetResourceVersion() {
			return fmt.Errorf("a dry run changes %s %s", object.GetKind(), object.GetName())
		}
	}
	passed("no difference in %d objects", len(objects))
	for _, object := range objects {
		mapping, _ := mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err := clients.Resource(mapping.Resource).Namespace(at.namespace).Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
