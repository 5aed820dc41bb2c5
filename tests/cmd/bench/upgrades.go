package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

const (
	upgradeObjects = 40
	// The prefix of Helm's user agent.
	agentHelm = "Helm/"
)

// upgrades measures Helm's upgrades of a locked release of 40 objects, beside an unlocked one, and counts the
// operator's writes to it meanwhile.
func (b *bench) upgrades(ctx context.Context) error {
	for _, h := range []struct {
		name string
		helm cluster.Helm
	}{{"Helm 3", b.cluster.Helm3()}, {"Helm 4", b.cluster.Helm4()}} {
		progress("%d upgrades by %s, and as many of a release that is not locked", b.Upgrades/2, h.name)
		if err := b.upgradesBy(ctx, h.name, h.helm); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	return nil
}

func (b *bench) upgradesBy(ctx context.Context, name string, helm cluster.Helm) error {
	namespace := strings.ToLower(strings.ReplaceAll(name, " ", ""))
	locked, unlocked := types.NamespacedName{Namespace: namespace, Name: "locked"},
		types.NamespacedName{Namespace: namespace + "-unlocked", Name: "unlocked"}
	chart, err := upgradeChart(filepath.Join(b.dir, namespace))
	if err != nil {
		return err
	}
	for _, rel := range []types.NamespacedName{locked, unlocked} {
		if err := b.namespace(ctx, rel.Namespace); err != nil {
			return err
		}
		if _, err := helm.Run(ctx, "install", rel.Name, chart, "--namespace", rel.Namespace); err != nil {
			return err
		}
	}
	w := &world{releases: []types.NamespacedName{locked}}
	if _, err := b.lock(ctx, w); err != nil {
		return err
	}
	begin, err := b.audit.mark()
	if err != nil {
		return err
	}
	var times [2][]time.Duration
	between := 0
	for round := range b.Upgrades / 2 {
		order := []types.NamespacedName{unlocked, locked}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, rel := range order {
			mark, err := b.audit.mark()
			if err != nil {
				return err
			}
			begun := time.Now()
			if _, err := helm.Run(ctx, "upgrade", rel.Name, chart, "--namespace", rel.Namespace, "--set",
				fmt.Sprintf("round=r%d", round)); err != nil {
				return err
			}
			took := time.Since(begun)
			if rel == unlocked {
				times[0] = append(times[0], took)
				continue
			}
			times[1] = append(times[1], took)
			if err := b.releases.waitRevision(ctx, rel.Name, round+2); err != nil {
				return err
			}
			during, err := b.audit.events(mark)
			if err != nil {
				return err
			}
			between += writesWithin(during, namespace)
		}
	}
	all, err := b.audit.events(begin)
	if err != nil {
		return err
	}
	total := 0
	for _, e := range all {
		if e.by(agentOperator) && e.writesTo(namespace) {
			total++
		}
	}
	b.section.upgrades(name, times[0], times[1], between, total)
	return b.unlock(ctx, w)
}

// writesWithin returns how many writes of the operator to objects of a namespace came between Helm's first and last.
func writesWithin(log []event, namespace string) int {
	isHelms := func(e event) bool { return e.by(agentHelm) && e.write() && e.ObjectRef.Namespace == namespace }
	first := slices.IndexFunc(log, isHelms)
	if first < 0 {
		return 0
	}
	last := first
	for i, e := range log {
		if isHelms(e) {
			last = i
		}
	}
	n := 0
	for _, e := range log[first:last] {
		if e.by(agentOperator) && e.writesTo(namespace) {
			n++
		}
	}
	return n
}

// upgradeChart writes a chart of 40 objects that all change with the value round.
func upgradeChart(dir string) (string, error) {
	templates := map[string]string{}
	for _, o := range objects("", "upgraded", "object", upgradeObjects) {
		content := o.declaredContent()
		metadata, ok := content["metadata"].(map[string]any)
		if !ok {
			return "", fmt.Errorf("object %s has no metadata", o.name)
		}
		delete(metadata, "namespace")
		metadata["annotations"] = map[string]any{"round": "{{ .Values.round }}"}
		doc, err := yaml.Marshal(content)
		if err != nil {
			return "", fmt.Errorf("encode a template: %w", err)
		}
		templates[o.name+".yaml"] = strings.ReplaceAll(string(doc), "value: "+declared, "value: \"{{ .Values.round }}\"")
	}
	return cluster.Chart(dir, "upgraded", "0.1.0", templates, "round: none\n")
}
