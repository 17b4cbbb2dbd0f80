package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var shops = schema.GroupVersionKind{Group: "clients.example.com", Version: "v1", Kind: "Shop"}

func shopDefinition() *apiextensionsv1.CustomResourceDefinition {
	one, nine := 1.0, 9.0
	spec := apiextensionsv1.JSONSchemaProps{
		Type:     "object",
		Required: []string{"lanes"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"lanes":  {Type: "integer", Minimum: &one, Maximum: &nine},
			"colour": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"green"`)}, Enum: []apiextensionsv1.JSON{{Raw: []byte(`"green"`)}, {Raw: []byte(`"red"`)}}},
			"extra":  {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}},
		},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "self.lanes < 9 || self.colour == 'red'", Message: "nine lanes are red"}},
	}
	status := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"lanes": {Type: "integer"}}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "shops.clients.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: shops.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "shops", Singular: "shop", Kind: "Shop", ListKind: "ShopList"},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": status},
				}},
				Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Lanes", Type: "integer", JSONPath: ".spec.lanes"}},
			}},
		},
	}
}

// operator creates its definition by a typed client in protobuf, and reconciles its objects with a manager of controller-runtime.
func operator(ctx context.Context, at target) error {
	log.SetLogger(logr.Discard())
	protobuf := rest.CopyConfig(at.config)
	protobuf.ContentType = "application/vnd.kubernetes.protobuf"
	definitions := apiextensions.NewForConfigOrDie(protobuf).ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(ctx, shopDefinition(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("definition: %w", err)
	}
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		found, err := definitions.Get(ctx, "shops.clients.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("established: %w", err)
	}
	passed("established")
	made, err := manager.New(at.config, manager.Options{
		Metrics:          server.Options{BindAddress: "0"},
		LeaderElection:   true,
		LeaderElectionID: "operator", LeaderElectionNamespace: at.namespace,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{at.namespace: {}}},
	})
	if err != nil {
		return err
	}
	shop := &unstructured.Unstructured{}
	shop.SetGroupVersionKind(shops)
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, reconcileShop(ctx, made.GetClient(), request)
	})
	if err := builder.ControllerManagedBy(made).For(shop).Owns(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- made.Start(running) }()

	direct, err := client.New(at.config, client.Options{})
	if err != nil {
		return err
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "one", "namespace": at.namespace}, "spec": map[string]any{"lanes": int64(3)}}}
	wanted.SetGroupVersionKind(shops)
	if err := direct.Create(ctx, wanted); err != nil {
		return fmt.Errorf("shop: %w", err)
	}
	colour, _, _ := unstructured.NestedString(wanted.Object, "spec", "colour")
	passed("default colour %s", colour)
	key := client.ObjectKeyFromObject(wanted)
	isReconciled := func(lanes int64) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			var owned corev1.ConfigMap
			if err := direct.Get(ctx, key, &owned); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			if err := direct.Get(ctx, key, wanted); err != nil {
				return false, err
			}
			got, _, _ := unstructured.NestedInt64(wanted.Object, "status", "lanes")
			return got == lanes && owned.Data["lanes"] == fmt.Sprint(lanes), nil
		}
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, isReconciled(3)); err != nil {
		return fmt.Errorf("reconciled: %w", err)
	}
	before := wanted.DeepCopy()
	_ = unstructured.SetNestedField(wanted.Object, int64(4), "spec", "lanes")
	if err := direct.Patch(ctx, wanted, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, isReconciled(4)); err != nil {
		return fmt.Errorf("reconciled again: %w", err)
	}
	passed("reconciled twice")
	if err := direct.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: at.namespace}}); err != nil {
		return err
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, isReconciled(4)); err != nil {
		return fmt.Errorf("owned object made again: %w", err)
	}
	passed("the owned object is made again")
	_ = unstructured.SetNestedField(wanted.Object, int64(9), "spec", "lanes")
	passed("refused: %v", direct.Update(ctx, wanted))
	if err := direct.Delete(ctx, wanted); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, key, wanted)
		return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("gone: %w", err)
	}
	passed("gone after its finalizer")
	stop()
	if err := <-ended; err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	return definitions.Delete(ctx, "shops.clients.example.com", metav1.DeleteOptions{})
}

const finalizer = "clients.example.com/shop"

func reconcileShop(ctx context.Context, of client.Client, request reconcile.Request) error {
	shop := &unstructured.Unstructured{}
	shop.SetGroupVersionKind(shops)
	if err := of.Get(ctx, request.NamespacedName, shop); err != nil {
		return client.IgnoreNotFound(err)
	}
	if shop.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(shop, finalizer) {
			return of.Update(ctx, shop)
		}
		return nil
	}
	if controllerutil.AddFinalizer(shop, finalizer) {
		return of.Update(ctx, shop)
	}
	lanes, _, _ := unstructured.NestedInt64(shop.Object, "spec", "lanes")
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: shop.GetName(), Namespace: shop.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, of, owned, func() error {
		owned.Data = map[string]string{"lanes": fmt.Sprint(lanes)}
		return controllerutil.SetControllerReference(shop, owned, of.Scheme())
	})
	if err != nil {
		return err
	}
	if got, has, _ := unstructured.NestedInt64(shop.Object, "status", "lanes"); has && got == lanes {
		return nil
	}
	_ = unstructured.SetNestedField(shop.Object, lanes, "status", "lanes")
	return of.Status().Update(ctx, shop)
}
