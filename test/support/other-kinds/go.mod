module banyan.io/test/other-kinds

go 1.25.0

require (
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/gateway-api v1.5.1
)
