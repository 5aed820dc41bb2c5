package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// rated is a drift of a Deployment with these fields.
func rated(name string, paths ...string) *message.Message {
	m := drifted(name)
	m.Drift.Paths = paths
	return m
}

const imagePath = "/spec/template/spec/containers/0/image"

// Each format names the severity of a drift, and none of another message.
func TestAMessageHasTheSeverityOfItsDrift(t *testing.T) {
	changed := &message.Message{Type: message.LockChanged, Lock: &message.Lock{Reason: "Locked"}}
	template := Options{TemplateFile: templateFile(t, `{"severity": {{ json .Severity }}}`)}
	for _, o := range []Options{{}, {Format: FormatJSON}, {Format: FormatSlack}, {Format: FormatTeams}, template} {
		t.Run(o.Format, func(t *testing.T) {
			b := newBench(t, func(options *Options) { o.URLs = options.URLs; *options = o })
			b.run()
			for _, c := range []struct {
				m       *message.Message
				want    string
				another string
			}{
				{rated("web", imagePath), "high", "low"}, {rated("web", "/spec/replicas"), "medium", "high"},
				{rated("web", "/metadata/labels/a", imagePath), "high", "low"}, {changed, "", "low"},
			} {
				b.answers <- ok
				b.Send(c.m)
				text := fmt.Sprint((<-b.got).body)
				check.That(t, (c.want == "" || strings.Contains(text, c.want)) && !strings.Contains(text, c.another),
					"want severity %q: %s", c.want, text)
			}
			b.stop()
		})
	}
}

// A receiver gets drift of its severity or above, and everything that is no drift.
func TestAReceiverFiltersBySeverity(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"for all": func(o *Options) { o.Severity = severity.High },
		"of a URL": func(o *Options) {
			o.Severity = severity.Low
			o.URLs[0] += "#severity=high"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, change)
			b.run()
			for range 5 { // more than are needed, so that one message too many does not wait
				b.answers <- ok
			}
			many := rated("many", "/metadata/labels/a")
			many.Drift.MorePaths = 5 // one of them may be the image
			for _, m := range []*message.Message{rated("low", "/metadata/labels/a"), rated("medium", "/spec/replicas"),
				rated("high", imagePath), many,
				{Type: message.LockChanged, Release: &message.Reference{Namespace: "apps", Name: "shop"},
					Lock: &message.Lock{Reason: "Locked"}}} {
				b.Send(m)
			}
			b.expect("high", "many", "apps/shop")
			b.stop()
			b.counts.expect(t, map[string]int{ResultSent: 3, ResultSkipped: 2}, 0)
		})
	}
}

// Fields that a message does not list may be the most severe ones.
func TestADriftIsRatedByItsMostSevereField(t *testing.T) {
	table, err := severity.Default()
	check.NoError(t, err)
	label := rated("web", "/metadata/labels/a").Drift
	check.Equal(t, rate(table, label), severity.Low, "a label is rated")
	label.MorePaths = 1
	for name, drift := range map[string]*v1alpha1.DriftRecord{
		"more fields": label, "no field": rated("web").Drift, "an image": rated("web", "/metadata/labels/a", imagePath).Drift,
	} {
		check.Equal(t, rate(table, drift), severity.High, "%s: rated", name)
	}
}

// A file replaces the rules; one that is wrong ends the process, as does an unknown severity.
func TestSeveritiesOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "severities.yaml")
	check.NoError(t, os.WriteFile(file, []byte(`{apiVersion: cli.helm-locker.cattle.io/v1, kind: DriftSeverities,
default: low, rules: [{severity: high, paths: [/spec/replicas]}]}`), 0o600))
	b := newBench(t, func(o *Options) { o.SeveritiesFile, o.Severity = file, severity.High })
	b.run()
	b.answers <- ok
	b.Send(rated("image", imagePath))
	b.Send(rated("replicas", "/spec/replicas"))
	b.expect("replicas")
	b.stop()

	broken := filepath.Join(t.TempDir(), "broken.yaml")
	check.NoError(t, os.WriteFile(broken, []byte("rules: []"), 0o600))
	const u = "https://user:pa55word@one.example/hook"
	for _, o := range []Options{
		{URLs: []string{u}, SeveritiesFile: broken}, {URLs: []string{u}, SeveritiesFile: "/does/not/exist"},
		{URLs: []string{u + "#severity=severe"}}, {URLs: []string{u + "#pa55word"}},
		{URLs: []string{u + "#severity=low&severity=high"}}, {URLs: []string{u + "#namespace=[pa55word"}},
		{URLs: []string{u + "#namespace=shop,"}}, {URLs: []string{u + "#pa55word=%zz"}},
		{URLs: []string{u}, Severity: "severe"},
	} {
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		_, err := New(o, clock, logrus.New(), &counts{results: map[string]int{}})
		check.That(t, err != nil && !strings.Contains(err.Error(), "pa55word"), "%+v: the error is %v", o, err)
	}
}
