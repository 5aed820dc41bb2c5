package drift

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const requested = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    spec:
      containers: [{name: web, image: web, ports: [{containerPort: 80}]}]
`

// The shares of others in Helm's server-side apply: values, parts of lists, whole maps, empty ones and nulls; and no
// field that Helm leaves out or leaves to others.
func TestI4_WhatOthersOwnOfARequest(t *testing.T) {
	blank := map[string]any{"spec": map[string]any{"revisionHistoryLimit": nil, "template": map[string]any{
		"spec": map[string]any{"containers": map[string]any{"0": map[string]any{"env": nil}}}}}}
	ignore := func(path []string) bool { return slices.Equal(path, []string{"spec", "replicas"}) }
	const inWeb = `"f:template":{"f:spec":{"f:containers":{".":{},"k:{\"name\":\"web\"}":`
	for fields, want := range map[string][]string{
		`{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:other":{}}}}`: {"/metadata/labels/app"},
		`{"f:metadata":{"f:labels":{}}}`:                               nil,
		`{"f:metadata":{"f:annotations":{}}}`:                          {"/metadata/annotations"},
		`{"f:spec":{"f:selector":{}}}`:                                 {"/spec/selector"},
		`{"f:spec":{"f:replicas":{},"f:paused":{}}}`:                   nil,
		`{"f:spec":{"f:revisionHistoryLimit":{}}}`:                     {"/spec/revisionHistoryLimit"},
		`{"f:spec":{` + inWeb + `{".":{},"f:env":{},"f:image":{}}}}}}}`: {
			"/spec/template/spec/containers/0", "/spec/template/spec/containers/0/env", "/spec/template/spec/containers/0/image"},
		`{"f:spec":{` + inWeb + `{"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:protocol":{}}}}}}}}}`: {
			"/spec/template/spec/containers/0/ports/0"},
	} {
		desired := obj(t, requested)
		r := Request{Desired: desired, Blank: blank, Schema: schemaOf(schemas(t), desired), Ignore: ignore}
		helm := entries{wrote("helm", apply, "", 1, fields)}
		got := paths(r.Shares(append(helm, wrote("other", update, "", 1, fields)), desired, "helm").Changes)
		check.That(t, slices.Equal(got, want), "%s: got %v, want %v", fields, got, want)
		found := r.Shares(helm, desired, "helm")
		check.That(t, len(found.Changes) == 0, "Helm's own: %v", found.Changes)
		found = r.Shares(entries{wrote("helm", update, "", 1, fields)}, desired, "helm")
		check.That(t, len(found.Changes) == len(want), "an update under Helm's name: %v", found.Changes)
	}
}

// A blank caBundle is left to others as soon as one of them has filled it in. Until then, the share of another manager
// makes Helm's next apply fail: the API server drops a blank value, and compares the next one with nothing.
func TestI4_ABlankCABundleIsSharedUntilItIsFilledIn(t *testing.T) {
	const config = "{apiVersion: a/v1, kind: A, webhooks: [{name: a, clientConfig: {url: u}}]}"
	for live, shared := range map[string]bool{"": true, "Cg==": true, "bmV3": false} {
		desired, now := obj(t, config), obj(t, config)
		if live != "" {
			put(t, now, live)
		}
		blank := map[string]any{"webhooks": map[string]any{"0": map[string]any{
			"clientConfig": map[string]any{"caBundle": "Cg=="}}}}
		schema := schemaOf(schemas(t), obj(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration}"))
		found := Request{Desired: desired, Blank: blank, Schema: schema}.Shares(entries{
			wrote("other", update, "", 1, `{"f:webhooks":{"k:{\"name\":\"a\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`)}, now, "helm")
		check.That(t, (len(found.Changes) == 1) == shared, "with %q live, shared is %v", live, found.Changes)
	}
}

// put sets the caBundle of the first webhook.
func put(t *testing.T, object map[string]any, bundle string) {
	t.Helper()
	webhook, _ := object["webhooks"].([]any)[0].(map[string]any)
	check.NoError(t, unstructured.SetNestedField(webhook, bundle, "clientConfig", "caBundle"))
}

// The stringData of a Secret is sent, as far as its values are texts, and what others own of it counts.
func TestI4_StringDataIsSentAsHelmSendsIt(t *testing.T) {
	desired := obj(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: YQ==, b: Yg==}}")
	blank := map[string]any{"stringData": map[string]any{"a": nil}}
	got := Request{Desired: desired, Blank: blank}.Apply(desired, desired, Options{}, nil)
	a, b := mapOf(got["stringData"])["a"], mapOf(got["data"])
	check.That(t, a == "a" && len(b) == 1 && b["b"] == "Yg==", "sent is %v", got)
	check.That(t, mapOf(desired["data"])["a"] == "YQ==", "the desired state was changed")
	r := Request{Desired: desired, Blank: blank, Ignore: func(path []string) bool { return path[len(path)-1] == "b" }}
	found := r.Shares(entries{
		wrote("other", update, "", 1, `{"f:stringData":{"f:a":{}},"f:data":{"f:a":{},"f:b":{}}}`)}, desired, "helm")
	check.That(t, len(found.Changes) == 1 && found.Changes[0].Path == "/stringData/a", "shared is %v", found.Changes)
	r.Ignore = func(path []string) bool { return slices.Equal(path, []string{"data", "a"}) }
	found = r.Shares(entries{wrote("other", update, "", 1, `{"f:stringData":{"f:a":{}}}`)}, desired, "helm")
	check.That(t, len(found.Changes) == 0, "an ignored key is shared: %v", found.Changes)
}

// Declared nulls beside and in stringData are sent as Helm sends them, and hide no value.
func TestI4_NullsBesideStringDataHideNoValue(t *testing.T) {
	desired := obj(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: YQ==}}")
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	for name, data := range map[string]any{"the map": nil, "the key": map[string]any{"a": nil}} {
		blank := map[string]any{"data": data, "stringData": map[string]any{"a": nil, "n": nil}}
		got := Request{Desired: desired, Blank: blank, Schema: opt.Schema}.Apply(desired, desired, opt, nil)
		text := mapOf(got["stringData"])
		null, sent := text["n"]
		check.That(t, text["a"] == "a" && sent && null == nil, "%s is null: sent is %v", name, got)
		check.That(t, deepEqual(got["data"], data), "%s is null: data is %v", name, got["data"])
	}
}

// A null inside of a map with one owner is no addition of others: the map is shared, and Helm sends all of it.
func TestI4_ANullInAMapWithOneOwnerHidesNoShare(t *testing.T) {
	desired := obj(t, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, "+
		"spec: {podSelector: {matchLabels: {app: web}}}}")
	blank := map[string]any{"spec": map[string]any{"podSelector": map[string]any{"matchExpressions": nil}}}
	opt := Options{Schema: schemaOf(schemas(t), desired)}
	r := Request{Desired: desired, Blank: blank, Schema: opt.Schema}
	found := r.Shares(entries{wrote("other", update, "", 1, `{"f:spec":{"f:podSelector":{}}}`)}, desired, "helm")
	check.That(t, len(found.Changes) == 1 && found.Changes[0].Path == "/spec/podSelector", "shared is %v",
		found.Changes)
	sent := mapOf(mapOf(r.Apply(desired, desired, opt, nil)["spec"])["podSelector"])
	check.That(t, sent["matchLabels"] != nil, "sent is %v", sent)
	added := obj(t, "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a}, "+
		"spec: {podSelector: {matchLabels: {app: web, more: x}}}}")
	found = r.Shares(entries{wrote("other", update, "", 1, `{"f:spec":{"f:podSelector":{}}}`)}, added, "helm")
	check.That(t, len(found.Changes) == 0, "an addition is shared: %v", found.Changes)
}
