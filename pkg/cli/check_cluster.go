package cli

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/proof"
)

// oldestTested is the oldest Kubernetes version of the tests.
var oldestTested = version.MustParseGeneric("1.30.0")

func serverFinding(c *connection) finding {
	const subject = "API server"
	server, err := c.Discovery.ServerVersion()
	if err != nil {
		return unreadable(subject, err)
	}
	f := finding{Level: levelOK, Subject: subject, Message: "Kubernetes " + server.GitVersion}
	if v, err := version.ParseGeneric(server.GitVersion); err == nil && v.LessThan(oldestTested) {
		f.Level, f.Message = levelWarning, f.Message+" is older than what helm-locker is tested on"
		f.Advice = "it may work; " + oldestTested.String() + " is the oldest tested version"
	} else if proof.ListsReadStorage(server) {
		f.Level, f.Message = levelNote, f.Message+": each check writes to a Secret of the operator, because lists are slow"
	}
	return f
}

func definitionFinding(ctx context.Context, c *connection) finding {
	name := v1alpha1.HelmReleaseResourceName + "." + v1alpha1.SchemeGroupVersion.Group
	subject := "CustomResourceDefinition " + name
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	live, err := get[apiextensionsv1.CustomResourceDefinition](ctx, c.Dynamic.Resource(resource), name)
	if apierrors.IsNotFound(err) {
		return finding{levelError, subject, "it is not installed", installation}
	}
	if err != nil {
		return unreadable(subject, err)
	}
	current, err := crd.Provides(live)
	switch {
	case err != nil:
		return unreadable(subject, err)
	case !current:
		return finding{levelWarning, subject, "it is not what this version of the program needs",
			"the operator updates it when it starts: upgrade the operator, or apply the chart's crds by hand"}
	}
	return finding{levelOK, subject, "installed, and as this version of the program needs it", ""}
}

// operatorFindings reports, by their Leases, whether the operators of the HelmReleases run. Without HelmReleases it
// checks the usual operator. It also returns the operators that run, and those that have stopped.
func operatorFindings(
	ctx context.Context, l leases, locks []*v1alpha1.HelmRelease, usual types.NamespacedName,
) (found []finding, running, gone []types.NamespacedName) {
	for _, key := range operatorsOf(locks, usual) {
		subject := "operator " + key.String()
		lease, err := l.get(ctx, key)
		switch {
		case apierrors.IsNotFound(err):
			found = append(found, finding{levelWarning, subject, "it has no Lease: it has never run here, or runs without leader election",
				installation})
		case err != nil:
			found = append(found, unknown(subject, err))
		default:
			f := leaseFinding(key, lease.Spec, l.now())
			if found = append(found, f); f.Level == levelError {
				gone = append(gone, key)
			} else {
				running = append(running, key)
			}
		}
	}
	return found, running, gone
}

// clockTolerance is how far a clock may be ahead of ours without a word.
const clockTolerance = 5 * time.Second

func leaseFinding(key types.NamespacedName, spec coordinationv1.LeaseSpec, now time.Time) finding {
	subject := "operator " + key.String()
	seen, gone := inspect.LastSeen(spec, now)
	switch {
	case gone:
		return finding{levelError, subject, "it does not run: last seen " + seen.UTC().Format(time.RFC3339),
			"start it, or find out why it ended: kubectl -n " + key.Namespace + " get pods, and kubectl logs"}
	case seen.Sub(now) > clockTolerance:
		return finding{levelWarning, subject, fmt.Sprintf("its clock, or the one of this machine, is wrong: its last renewal is %s from now",
			seen.Sub(now).Round(time.Second)), "suspensions end, and Leases expire, by the operator's clock: set the clocks by NTP"}
	}
	return finding{levelOK, subject, "running, last seen " + seen.UTC().Format(time.RFC3339), ""}
}
