package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// What an informer has reported: the names, by the kind of event.
type seen struct {
	mutex  sync.Mutex
	events map[string]int
}

func (s *seen) note(event string, object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.events[event+" "+accessor.GetName()]++
}

func (s *seen) has(event string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.events[event] > 0
}

// informersOf returns a typed, a dynamic and a metadata informer of the ConfigMaps.
func informersOf(at target, clientset kubernetes.Interface) map[string]cache.SharedIndexInformer {
	none := time.Duration(0)
	dynamicFactory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(at.config), none, at.namespace, nil)
	metadataFactory := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(at.config), none, at.namespace, nil)
	typedFactory := informersFactory(clientset, at.namespace)
	return map[string]cache.SharedIndexInformer{
		"typed":    typedFactory.Core().V1().ConfigMaps().Informer(),
		"dynamic":  dynamicFactory.ForResource(configMaps).Informer(),
		"metadata": metadataFactory.ForResource(configMaps).Informer(),
	}
}

func informersFactory(clientset kubernetes.Interface, namespace string) clientinformers.SharedInformerFactory {
	return clientinformers.NewSharedInformerFactoryWithOptions(clientset, 0, clientinformers.WithNamespace(namespace))
}

// informers watches ConfigMaps by three informers at the same time: each has what was there, and sees a creation, a change and a deletion.
func informers(ctx context.Context, at target) error {
	passed("WatchList: %t", clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient))
	clientset, err := kubernetes.NewForConfig(at.config)
	if err != nil {
		return err
	}
	maps := clientset.CoreV1().ConfigMaps(at.namespace)
	make := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}
	}
	for _, name := range []string{"early-1", "early-2"} {
		if _, err := maps.Create(ctx, make(name), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	observed := map[string]*seen{}
	watching := informersOf(at, clientset)
	for _, kind := range []string{"typed", "dynamic", "metadata"} {
		informer := watching[kind]
		note := &seen{events: map[string]int{}}
		observed[kind] = note
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { note.note("added", object) },
			UpdateFunc: func(_, object any) { note.note("updated", object) },
			DeleteFunc: func(object any) { note.note("deleted", object) },
		})
		if err != nil {
			return err
		}
		go informer.Run(running.Done())
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("the %s informer has not synchronised", kind)
		}
		passed("%s has what was there: %t", kind, note.has("added early-1") && note.has("added early-2"))
	}
	late, err := maps.Create(ctx, make("late"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	late.Data["a"] = "c"
	if _, err := maps.Update(ctx, late, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "early-1", metav1.DeleteOptions{}); err != nil {
		return err
	}
	for kind, note := range observed {
		for _, event := range []string{"added late", "updated late", "deleted early-1"} {
			err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return note.has(event), nil })
			if err != nil {
				return fmt.Errorf("%s: %s: %w", kind, event, err)
			}
		}
	}
	passed("all saw a creation, a change and a deletion")
	return nil
}
