// Package policy decides which HelmReleases the HelmReleasePolicies of a namespace make: from all policies, all
// releases and all HelmReleases it returns the creations, changes and deletions, and the reasons for the rest. It is
// pure: the operator carries a Plan out, and `helm-locker policy preview` prints one.
package policy
