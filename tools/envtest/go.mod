module github.com/rancher/helm-locker/tools/envtest

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	github.com/spf13/afero v1.15.0
	sigs.k8s.io/controller-runtime/tools/setup-envtest v0.25.1
)

require (
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	golang.org/x/text v0.40.0 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
