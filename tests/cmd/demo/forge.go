package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	forger  = "system:serviceaccount:apps:ci"
	granted = `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: pwned}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: ci, namespace: apps}]
`
)

// witness has the API server ask the operator about the writers of release records.
func (d *demo) witness() error {
	address, err := process.FreeAddress()
	if err != nil {
		return err
	}
	d.operator.Args = []string{"--trust-records=Witnessed", "--guard-address=" + address, "--guard-url=https://" + address}
	return nil
}

// forge writes a release record. Applied, it would make a user with the role edit an administrator.
func (d *demo) forge(ctx context.Context) error {
	d.screen.act("Forge a release record as a user with the role edit")
	for _, args := range [][]string{
		{"kubectl", "-n", shop.namespace, "create", "serviceaccount", "ci"},
		// These are the rules of the role edit. Without a controller manager that role has none.
		{"kubectl", "-n", shop.namespace, "create", "rolebinding", "ci", "--clusterrole=system:aggregate-to-edit",
			"--serviceaccount=apps:ci"},
	} {
		if _, err := d.shell.show(ctx, args...); err != nil {
			return err
		}
	}
	file, err := d.forged(ctx, 4)
	if err != nil {
		return err
	}
	if _, err := d.shell.run(ctx, "kubectl", "--as="+forger, "create", "-f", file); err != nil {
		return err
	}
	d.screen.command("kubectl --as=" + forger + " create -f forged-record.yaml")
	if err := d.await(ctx, shop, "jsonpath={.status.trust.revision}=4"); err != nil {
		return err
	}
	if err := d.await(ctx, shop, "jsonpath={.status.trust.state}=NotTrusted"); err != nil {
		return err
	}
	out, err := d.shell.show(ctx, "kubectl", "-n", operatorNamespace, "get", "hlr", shop.name, "-o",
		`jsonpath={.status.conditions[?(@.type=="Locked")].message}`)
	if err != nil {
		return err
	}
	why, _, _ := strings.Cut(out, ";")
	d.screen.output(why)
	bound, err := d.shell.run(ctx, "kubectl", "get", "clusterrolebinding", "pwned", "--ignore-not-found", "-o", "name")
	if err != nil {
		return err
	}
	row := result{what: "forge a release record", release: shop.String(), ok: bound == "", note: "its writer gains nothing"}
	if !row.ok {
		row.note = "its writer is an administrator"
	}
	d.summary.add(row)
	if _, err := d.shell.show(ctx, "kubectl", "-n", shop.namespace, "delete",
		"secret/sh.helm.release.v1.shop.v4"); err != nil {
		return err
	}
	return d.ready(ctx, shop, 3)
}

// forged writes a record of the shop with one object more into a file, and returns its name.
func (d *demo) forged(ctx context.Context, revision int) (string, error) {
	manifest, err := d.shell.run(ctx, "helm3", "get", "manifest", shop.name, "--namespace", shop.namespace)
	if err != nil {
		return "", err
	}
	record, err := json.Marshal(map[string]any{"name": shop.name, "namespace": shop.namespace, "version": revision,
		"manifest": manifest + granted, "info": map[string]any{"status": "deployed"}})
	if err != nil {
		return "", err
	}
	payload, err := kit.EncodePayload(record)
	if err != nil {
		return "", err
	}
	secret, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
		"metadata": map[string]any{"name": fmt.Sprintf("sh.helm.release.v1.%s.v%d", shop.name, revision),
			"namespace": shop.namespace, "labels": map[string]string{"owner": "helm", "name": shop.name,
				"version": fmt.Sprint(revision), "status": "deployed"}},
		"data": map[string]string{"release": base64.StdEncoding.EncodeToString(payload)}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(d.operator.Log.Name()), "forged-record.yaml")
	return file, os.WriteFile(file, secret, 0o600)
}
