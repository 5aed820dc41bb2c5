package main

import (
	"context"
	"fmt"
	"strings"
)

// install installs the charts, and the operator with its chart's rights.
func (d *demo) install(ctx context.Context) error {
	d.screen.act("Install two charts, with Helm 3 and with Helm 4")
	for _, r := range []release{shop, bakery} {
		if _, err := d.shell.show(ctx, r.helm, "install", r.name, "tests/cmd/demo/charts/"+r.name,
			"--namespace", r.namespace, "--create-namespace"); err != nil {
			return err
		}
	}
	if err := d.observe(ctx); err != nil {
		return err
	}
	for _, r := range []release{shop, bakery} {
		objects, err := d.watch.Remember(ctx, r.namespace)
		if err != nil {
			return err
		}
		d.screen.line("watch", fmt.Sprintf("release %s/%s has %d objects", r.namespace, r.name, objects))
	}
	return nil
}

// lock runs the operator and creates the HelmReleases.
func (d *demo) lock(ctx context.Context) error {
	d.screen.act("Run helm-locker and lock both releases")
	for _, args := range [][]string{
		{"kubectl", "create", "namespace", operatorNamespace},
		{"kubectl", "-n", operatorNamespace, "create", "serviceaccount", "helm-locker"},
		{"kubectl", "create", "clusterrolebinding", "helm-locker", "--clusterrole=cluster-admin", "--serviceaccount=" +
			operatorNamespace + ":helm-locker"},
	} {
		if _, err := d.shell.show(ctx, args...); err != nil {
			return err
		}
	}
	if err := d.configureOperator(ctx); err != nil {
		return err
	}
	if err := d.witness(); err != nil {
		return err
	}
	if err := d.startOperator(ctx); err != nil {
		return err
	}
	// The operator installs its CustomResourceDefinition.
	for _, condition := range []string{"create", "condition=Established"} {
		if _, err := d.shell.run(ctx, "kubectl", "wait", "crd/helmreleases.helm.cattle.io", "--for="+
			condition, "--timeout="+patience.String()); err != nil {
			return err
		}
	}
	if _, err := d.shell.show(ctx, "kubectl", "apply", "-f", "tests/cmd/demo/helmreleases.yaml"); err != nil {
		return err
	}
	if _, err := d.shell.show(ctx, "kubectl", "-n", operatorNamespace, "wait", "--for=condition=Ready",
		"helmreleases", "--all", "--timeout="+patience.String()); err != nil {
		return err
	}
	if err := d.list(ctx); err != nil {
		return err
	}
	return d.untouched()
}

// untouched notes whether locking wrote anything to the objects of the releases.
func (d *demo) untouched() error {
	for _, r := range []release{shop, bakery} {
		writes, err := d.audit.writes(r.namespace)
		if err != nil {
			return err
		}
		note := fmt.Sprintf("%d writes to the objects of release %s", len(writes), r.name)
		d.screen.line("audit", "locking took "+note)
		d.summary.add(result{what: "lock a release", release: r.String(), ok: len(writes) == 0,
			note: strings.Join(append([]string{note}, writes...), ", ")})
	}
	return nil
}

// configureOperator writes a kubeconfig with a token of the operator's ServiceAccount.
func (d *demo) configureOperator(ctx context.Context) error {
	config, err := d.cluster.ServiceAccountConfig(ctx, operatorNamespace, "helm-locker")
	if err != nil {
		return err
	}
	d.operator.Kubeconfig, err = d.cluster.KubeconfigFor("helm-locker", config)
	return err
}

func (d *demo) startOperator(ctx context.Context) error {
	d.screen.command("helm-locker operator --kubeconfig helm-locker.kubeconfig &")
	return d.operator.Start(ctx)
}
