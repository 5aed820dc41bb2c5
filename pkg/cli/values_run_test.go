package cli

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/pkg/values"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func valuedShop() *valued {
	key := release.Key{Namespace: "apps", Name: "shop"}
	return &valued{details: &whole.Release{Release: release.Release{Key: key}}}
}

func answersOf(key string, wanted any) *values.Answers {
	return &values.Answers{Chart: "shop-1.0.0", Answers: []values.Answer{
		{Settings: []values.Setting{{Key: []string{key}, Wanted: wanted}}},
	}}
}

// The name of a chart is the text of a tenant: it is one word of the printed command, and never a flag of helm.
func TestHostile_TheNameOfAChartIsNoFlag(t *testing.T) {
	for chart, want := range map[string]string{
		"shop-1.0.0":                  "helm upgrade shop shop-1.0.0.tgz -n apps --reset-then-reuse-values",
		"--post-renderer=steal-1.0.0": "helm upgrade shop ./--post-renderer=steal-1.0.0.tgz -n apps --reset-then-reuse-values",
		"a; rm -rf $(x)'-1.0.0":       `helm upgrade shop 'a; rm -rf $(x)'\''-1.0.0.tgz' -n apps --reset-then-reuse-values`,
	} {
		got, err := valuedShop().run(chart, nil)
		check.That(t, err == nil && got == want, "%s: got %s, %v\nwant %s", chart, got, err, want)
	}
}

// A command with the marker of a Secret in the place of its value would set the marker.
func TestACommandWithAMaskedValueIsNotPrinted(t *testing.T) {
	masked := func(answers *values.Answers) error {
		answers.Answers[0].Settings[0].Wanted = strings.ReplaceAll(
			answers.Answers[0].Settings[0].Wanted.(string), "hunter2", "<secret 1>")
		return nil
	}
	for value, want := range map[string]string{
		"hunter2":            "not printed, because it holds a value of a Secret: see --show-secrets",
		"db://me:hunter2@db": "not printed, because it holds a value of a Secret: see --show-secrets",
		"plain":              "helm upgrade shop shop-1.0.0.tgz -n apps --reset-then-reuse-values --set key=plain",
		"a\u202eb":           "not printed, because it holds characters that a terminal hides: see -o json",
	} {
		runs, err := valuedShop().upgrades(answersOf("key", value), masked)
		if err != nil || runs[0].text() != want {
			t.Errorf("%q: got %v, %v, want %s", value, runs[0], err, want)
		}
	}
}
