package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rancher/helm-locker/tests/cmd/demo/observe"
)

// expectation is a value set by a Helm operation, with the command that reads it.
type expectation struct {
	object, jsonpath, value string
}

// upgrade upgrades by Helm 3 and Helm 4, rolls back by Helm 3, and tampers after each: the new revision is locked.
func (d *demo) upgrade(ctx context.Context) error {
	d.screen.act("Upgrade and roll back: Helm passes untouched")
	err := d.helm(ctx, shop, 2, expectation{"deployment/shop-web", "{.spec.template.spec.containers[0].image}",
		"registry.example/shop:2.0"}, "upgrade", "shop", "tests/cmd/demo/charts/shop", "--set",
		"greeting=Hello,image.tag=2.0,replicas=3,worker.maxReplicas=5")
	if err != nil {
		return err
	}
	err = d.helm(ctx, bakery, 2, expectation{"oven/bakery", "{.spec.temperature}", "240"},
		"upgrade", "bakery", "tests/cmd/demo/charts/bakery", "--set", "temperature=240,port=8081,recipe=rye")
	if err != nil {
		return err
	}
	err = d.tamper(ctx, shop, tampering{what: "edit after the upgrade", kind: "ConfigMap", name: "shop",
		args: patch(shop, "configmap/shop", `{"data":{"greeting":"Closed"}}`)})
	if err != nil {
		return err
	}
	err = d.tamper(ctx, bakery, tampering{what: "edit after the upgrade", kind: "Oven", name: "bakery",
		args: patch(bakery, "oven/bakery", `{"spec":{"temperature":220}}`)})
	if err != nil {
		return err
	}
	err = d.helm(ctx, shop, 3, expectation{"deployment/shop-web", "{.spec.template.spec.containers[0].image}",
		"registry.example/shop:1.0"}, "rollback", "shop", "1")
	if err != nil {
		return err
	}
	return d.list(ctx)
}

// helm has Helm work on a locked release, and notes whether the operator wrote anything, or anything went back and
// forth, until the new revision was locked.
func (d *demo) helm(ctx context.Context, r release, revision int, want expectation, args ...string) error {
	since := d.watch.Now()
	before, err := d.audit.writes(r.namespace)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := d.shell.show(ctx, append(append([]string{r.helm}, args...), "--namespace",
		r.namespace)...); err != nil {
		return d.disturbed(r, args[0], firstLine(err))
	}
	took := time.Since(began)
	if err := d.ready(ctx, r, revision); err != nil {
		return err
	}
	got, err := d.shell.run(ctx, "kubectl", "-n", r.namespace, "get", want.object, "-o", "jsonpath="+want.jsonpath)
	if err != nil {
		return err
	}
	after, err := d.audit.writes(r.namespace)
	if err != nil {
		return err
	}
	writes, flaps := after[len(before):], d.watch.Flaps(since, r.namespace)
	switch {
	case got != want.value:
		return d.disturbed(r, args[0], fmt.Sprintf("%s %s is %q instead of %q", want.object, want.jsonpath, got, want.value))
	case len(writes) > 0:
		return d.disturbed(r, args[0], "the operator wrote: "+strings.Join(writes, ", "))
	case len(flaps) > 0:
		return d.disturbed(r, args[0], "back and forth went "+strings.Join(flaps, ", "))
	}
	d.screen.line("watch", fmt.Sprintf("%s has %s; Helm took %.1f s; revision %d is locked", want.object, got,
		took.Seconds(), revision))
	d.screen.verdict(true, "audit", "", "0 writes by the operator, no object went back and forth")
	d.summary.add(result{what: r.helm + " " + args[0], release: r.String(), ok: true,
		note: "undisturbed: 0 writes by the operator, no flap"})
	_, err = d.watch.Remember(ctx, r.namespace)
	return err
}

// disturbed records a disturbed Helm operation. The demo continues.
func (d *demo) disturbed(r release, operation, why string) error {
	d.screen.verdict(false, "audit", "", "DISTURBED: "+why)
	d.summary.add(result{what: r.helm + " " + operation, release: r.String(), note: why})
	return nil
}

// suspend unlocks a release for a while: changes stay until the release is locked again.
func (d *demo) suspend(ctx context.Context) error {
	d.screen.act("Suspend, change something, resume")
	set := func(on bool) []string {
		return []string{"kubectl", "-n", operatorNamespace, "patch", "hlr/shop", "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"suspend":%t}}`, on)}
	}
	if _, err := d.shell.show(ctx, set(true)...); err != nil {
		return err
	}
	if err := d.await(ctx, shop, "condition=Locked=false"); err != nil {
		return err
	}
	t := tampering{what: "edit while suspended", kind: "ConfigMap", name: "shop",
		args: patch(shop, "configmap/shop", `{"data":{"greeting":"Maintenance"}}`)}
	since := d.watch.Now()
	if _, err := d.shell.show(ctx, t.args...); err != nil {
		return err
	}
	resumed := time.Now()
	if _, err := d.shell.show(ctx, set(false)...); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	episode, err := d.watch.Restored(wait, since, t.object(shop))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	row := result{what: t.what, release: shop.String(), ok: err == nil && episode.Restored.After(resumed),
		note: "stayed until the release was resumed"}
	if !row.ok {
		row.note = "did not stay, or was not reverted"
	}
	d.record(row, episode.ID.String())
	return d.await(ctx, shop, "condition=Locked")
}

// uninstall removes both releases: none of their objects may reappear.
func (d *demo) uninstall(ctx context.Context) error {
	d.screen.act("Uninstall: nothing comes back")
	for _, r := range []release{shop, bakery} {
		since := d.watch.Now()
		before, err := d.audit.writes(r.namespace)
		if err != nil {
			return err
		}
		if _, err := d.shell.show(ctx, r.helm, "uninstall", r.name, "--namespace", r.namespace); err != nil {
			return err
		}
		if err := d.await(ctx, r, "jsonpath={.status.state}=SecretNotFound"); err != nil {
			return err
		}
		if err := d.gone(ctx, since, r, len(before)); err != nil {
			return err
		}
	}
	return d.list(ctx)
}

// gone records whether all objects of an uninstalled release are deleted, without a re-creation in between.
func (d *demo) gone(ctx context.Context, since observe.Mark, r release, writesBefore int) error {
	left, err := d.watch.Left(ctx, r.namespace)
	if err != nil {
		return err
	}
	writes, err := d.audit.writes(r.namespace)
	if err != nil {
		return err
	}
	flaps := d.watch.Flaps(since, r.namespace)
	row := result{what: r.helm + " uninstall", release: r.String(), ok: len(left)+len(flaps)+
		len(writes)-writesBefore == 0, note: "nothing left, nothing re-created"}
	if !row.ok {
		row.note = fmt.Sprintf("left: %v, came back: %v, written by the operator: %v", left, flaps, writes[writesBefore:])
	}
	d.record(row, "")
	return nil
}
