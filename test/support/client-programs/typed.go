package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func deployment(name, namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "nginx:1"}}},
			},
		},
	}
}

// typed writes and reads built-in kinds by the clientset of client-go and by the typed client of controller-runtime.
func typed(ctx context.Context, at target) error {
	config := *at.config
	// What kubernetes.NewForConfig of programs does by default since client-go 0.33: protobuf when the kind has it.
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	clientset, err := kubernetes.NewForConfig(&config)
	if err != nil {
		return err
	}
	deployments := clientset.AppsV1().Deployments(at.namespace)
	made, err := deployments.Create(ctx, deployment("typed", at.namespace), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	passed("created %s %d", made.Name, made.Generation)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := deployments.Get(ctx, "typed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		replicas := int32(3)
		found.Spec.Replicas = &replicas
		_, err = deployments.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	made.Spec.Paused = true
	_, err = deployments.Update(ctx, made, metav1.UpdateOptions{})
	passed("an update of an old version conflicts: %t", apierrors.IsConflict(err))
	_, err = deployments.Create(ctx, deployment("typed", at.namespace), metav1.CreateOptions{})
	passed("a second create: %t", apierrors.IsAlreadyExists(err))
	patched, err := deployments.Patch(ctx, "typed", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"seen":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	passed("patched %s", patched.Labels["seen"])
	scale, err := deployments.GetScale(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("scale: %w", err)
	}
	scale.Spec.Replicas = 5
	if scale, err = deployments.UpdateScale(ctx, "typed", scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update of the scale: %w", err)
	}
	passed("scaled to %d, selector %s", scale.Spec.Replicas, scale.Status.Selector)
	found, err := deployments.Get(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		return err
	}
	found.Status.ObservedGeneration = found.Generation
	if found, err = deployments.UpdateStatus(ctx, found, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update of the status: %w", err)
	}
	passed("status of generation %d", found.Status.ObservedGeneration)

	apply := applycore.ConfigMap("applied", at.namespace).WithData(map[string]string{"a": "b"})
	applied, err := clientset.CoreV1().ConfigMaps(at.namespace).Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	passed("applied %v", applied.Data)
	apply.WithData(map[string]string{"a": "c"})
	_, err = clientset.CoreV1().ConfigMaps(at.namespace).Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "two"})
	passed("an apply of another manager conflicts: %t", apierrors.IsConflict(err))
	extracted, err := applycore.ExtractConfigMap(applied, "one")
	if err != nil {
		return fmt.Errorf("extract: %w", err)
	}
	passed("extracted %v", extracted.Data)
	selector := applymeta.LabelSelector().WithMatchLabels(map[string]string{"app": "applied"})
	container := applycore.Container().WithName("app").WithImage("nginx")
	pod := applycore.PodTemplateSpec().WithLabels(map[string]string{"app": "applied"}).WithSpec(applycore.PodSpec().WithContainers(container))
	whole := applyapps.Deployment("applied", at.namespace).WithSpec(applyapps.DeploymentSpec().WithSelector(selector).WithTemplate(pod))
	first, err := deployments.Apply(ctx, whole, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return fmt.Errorf("apply of a deployment: %w", err)
	}
	second, err := deployments.Apply(ctx, whole, metav1.ApplyOptions{FieldManager: "one"})
	if err != nil {
		return fmt.Errorf("second apply of a deployment: %w", err)
	}
	passed("a second apply changes nothing: %t", first.ResourceVersion == second.ResourceVersion)

	var names []string
	options := metav1.ListOptions{Limit: 1}
	for {
		page, err := deployments.List(ctx, options)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		for _, one := range page.Items {
			names = append(names, one.Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	passed("pages of one: %v", names)
	_, err = clientset.CoreV1().Pods(at.namespace).Get(ctx, "absent", metav1.GetOptions{})
	passed("absent: %t", apierrors.IsNotFound(err))
	bad := deployment("Bad_Name", at.namespace)
	_, err = deployments.Create(ctx, bad, metav1.CreateOptions{})
	passed("invalid: %t", apierrors.IsInvalid(err))
	if err := deployments.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=typed"}); err != nil {
		return fmt.Errorf("deletion of a collection: %w", err)
	}
	left, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	passed("left: %d", len(left.Items))

	cr, err := client.New(at.config, client.Options{})
	if err != nil {
		return err
	}
	wanted := deployment("runtime", at.namespace)
	if err := cr.Create(ctx, wanted); err != nil {
		return fmt.Errorf("create by controller-runtime: %w", err)
	}
	before := wanted.DeepCopy()
	wanted.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	if err := cr.Patch(ctx, wanted, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch by controller-runtime: %w", err)
	}
	passed("controller-runtime patched to %s", wanted.Spec.Template.Spec.Containers[0].Image)
	var list appsv1.DeploymentList
	if err := cr.List(ctx, &list, client.InNamespace(at.namespace), client.MatchingLabels{"app": "runtime"}); err != nil {
		return err
	}
	passed("controller-runtime lists %d", len(list.Items))
	if err := cr.Delete(ctx, wanted, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	passed("controller-runtime finds the deleted: %t", !apierrors.IsNotFound(cr.Get(ctx, client.ObjectKeyFromObject(wanted), wanted)))
	return nil
}
