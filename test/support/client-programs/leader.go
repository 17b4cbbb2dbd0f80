package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leader lets two candidates compete for one Lease. The first leads until it gives up; then the second leads.
func leader(ctx context.Context, at target) error {
	clientset, err := kubernetes.NewForConfig(at.config)
	if err != nil {
		return err
	}
	started := make(chan string, 2)
	run := func(ctx context.Context, identity string) error {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, at.namespace, "leader", clientset.CoreV1(), clientset.CoordinationV1(),
			resourcelock.ResourceLockConfig{Identity: identity})
		if err != nil {
			return err
		}
		go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock,
			ReleaseOnCancel: true,
			LeaseDuration:   60 * time.Second,
			RenewDeadline:   40 * time.Second,
			RetryPeriod:     500 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { started <- identity },
				OnStoppedLeading: func() {},
			},
		})
		return nil
	}
	first, stop := context.WithCancel(ctx)
	defer stop()
	if err := run(first, "one"); err != nil {
		return err
	}
	for _, wanted := range []string{"one", "two"} {
		select {
		case got := <-started:
			passed("%s leads", got)
			if got != wanted {
				return fmt.Errorf("%s leads in place of %s", got, wanted)
			}
		case <-ctx.Done():
			return fmt.Errorf("%s does not lead: %w", wanted, ctx.Err())
		}
		if wanted == "one" {
			if err := run(ctx, "two"); err != nil {
				return err
			}
			// The lease lasts longer than this program: only its release lets the second candidate lead.
			stop()
		}
	}
	return nil
}
