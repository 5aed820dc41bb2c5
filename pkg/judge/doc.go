// Package judge compares an object with the manifest that Helm deployed, and returns its state. The operator, the
// commands and the page gather the input (the declared and the live object, the rules of the HelmRelease, the baseline)
// and act on the result.
//
// Read and Plan make a manifest into objects to judge; Judge compares one of them with the live object. The rules of
// coexistence leave parts to others. Each rule has a file: caBundles and aggregated ClusterRoles (coexist.go),
// annotations and owners of Kubernetes' controllers (controllers.go), the operator's own objects (own.go), autoscalers
// (scalers.go, autoscale.go, replicas.go), objects that run once (jobs.go), pending deletions (deletion.go).
package judge
