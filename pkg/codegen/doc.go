// Command codegen writes everything derived from the API types in pkg/apis: deep copies, the
// CustomResourceDefinitions in crds, the wrangler controllers in pkg/generated and the API reference in docs; and the
// tables of values in the READMEs of the charts. Run all of it, in this order, by
//
//	go generate ./pkg/codegen
//
// The command itself implements the steps that run ./pkg/codegen. It runs from the root of the repository.
package main

//go:generate go -C ../.. tool -modfile=tools/go.mod controller-gen object:headerFile=pkg/codegen/boilerplate.go.txt paths=./pkg/apis/...
//go:generate go -C ../.. tool -modfile=tools/go.mod controller-gen crd paths=./pkg/apis/... output:crd:dir=crds
//go:generate go -C ../.. run ./pkg/codegen controllers
//go:generate go -C ../.. tool -modfile=tools/go.mod crd-ref-docs --log-level=ERROR --source-path=pkg/apis --config=docs/api-config.yaml --renderer=markdown --output-path=docs/api.md
//go:generate go -C ../.. run ./pkg/codegen reference
//go:generate go -C ../.. run ./pkg/codegen charts
