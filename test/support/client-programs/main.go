// Programs of Kubernetes clients against one API server: each checks what its library promises, and prints one line for each check.
// The arguments are the path of a kubeconfig, a namespace that exists, and the name of the program.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Longest time for one program. A busy machine needs several times as long as an idle one.
const programMax = 4 * time.Minute

type target struct {
	config    *rest.Config
	namespace string
}

var programs = map[string]func(context.Context, target) error{
	"typed":    typed,
	"dynamic":  dynamicAndMetadata,
	"informer": informers,
	"leader":   leader,
	"operator": operator,
	"flux":     fluxSync,
	"argo":     argoSync,
}

func main() {
	if len(os.Args) != 4 || programs[os.Args[3]] == nil {
		fmt.Fprintln(os.Stderr, "usage: client-programs KUBECONFIG NAMESPACE typed|dynamic|informer|leader|operator|flux|argo")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), programMax)
		defer cancel()
		err = programs[os.Args[3]](ctx, target{config, os.Args[2]})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Prints a check that has passed.
func passed(format string, values ...any) {
	fmt.Printf(format+"\n", values...)
}
