// Package policy decides which HelmReleases the HelmReleasePolicies of a namespace make: it is told all policies, all
// releases and all HelmReleases, and returns what to create, change and delete, and why not for the rest. It is pure:
// the operator carries a Plan out, and `helm-locker policy preview` prints one.
package policy
