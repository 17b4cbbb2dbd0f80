package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap(name, namespace string, data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"of": "dynamic"}},
		"data":       data,
	}}
}

// dynamicAndMetadata uses clients without types: the dynamic client, the metadata client, a mapper from discovery, and controller-runtime.
func dynamicAndMetadata(ctx context.Context, at target) error {
	found, err := discovery.NewDiscoveryClientForConfig(at.config)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(found)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: "apps", Kind: "StatefulSet"})
	if err != nil {
		return err
	}
	passed("mapped to %s, %s", mapping.Resource, mapping.Scope.Name())
	maps := dynamic.NewForConfigOrDie(at.config).Resource(configMaps).Namespace(at.namespace)
	if _, err := maps.Create(ctx, configMap("dynamic", at.namespace, map[string]any{"a": "b"}), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	applied, err := maps.Apply(ctx, "dynamic", configMap("dynamic", at.namespace, map[string]any{"c": "d"}), metav1.ApplyOptions{FieldManager: "dynamic", Force: true})
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	passed("applied %v", applied.Object["data"])
	metas := metadata.NewForConfigOrDie(at.config).Resource(configMaps).Namespace(at.namespace)
	meta, err := metas.Get(ctx, "dynamic", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	passed("metadata of %s, labels %v", meta.Name, meta.Labels)
	list, err := metas.List(ctx, metav1.ListOptions{LabelSelector: "of=dynamic"})
	if err != nil {
		return err
	}
	passed("metadata of %d", len(list.Items))
	patched, err := metas.Patch(ctx, "dynamic", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch of metadata: %w", err)
	}
	passed("annotations %v", patched.Annotations)

	cr, err := client.New(at.config, client.Options{})
	if err != nil {
		return err
	}
	only := &metav1.PartialObjectMetadata{}
	only.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	if err := cr.Get(ctx, client.ObjectKey{Namespace: at.namespace, Name: "dynamic"}, only); err != nil {
		return fmt.Errorf("metadata by controller-runtime: %w", err)
	}
	passed("controller-runtime has the metadata of %s", only.Name)
	if err := cr.Delete(ctx, only); err != nil {
		return err
	}
	left := &unstructured.UnstructuredList{}
	left.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	if err := cr.List(ctx, left, client.InNamespace(at.namespace), client.MatchingLabels{"of": "dynamic"}); err != nil {
		return err
	}
	passed("left: %d", len(left.Items))
	return nil
}
