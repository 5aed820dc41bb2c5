// Package judge answers one question in one place: what is this object, compared with what Helm deployed? The operator,
// the commands and the page gather the input (what the manifest declares, what exists, the rules of the HelmRelease,
// what was learnt) and act on the result.
//
// Read and Plan make a manifest into objects to judge; Judge compares one of them with what exists. What a lock leaves
// to others is a rule of coexistence. Each rule has a file: caBundles and aggregated ClusterRoles (coexist.go),
// annotations of Kubernetes' controllers (controllers.go), the operator's own objects (own.go), controllers that scale
// (scalers.go, autoscale.go, replicas.go), objects that run once (jobs.go), pending deletions (deletion.go).
package judge
