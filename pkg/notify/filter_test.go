package notify

import (
	"encoding/json"
	"testing"

	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/severity"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAReceiverFiltersByNamespace(t *testing.T) {
	of := func(namespace string, level severity.Level) event {
		return event{Severity: level, Event: message.Event{Message: &message.Message{
			Release: &message.Reference{Namespace: namespace, Name: "shop"}}}}
	}
	lost := event{Event: message.Event{Message: &message.Message{Lost: &message.Lost{Count: 1}}}}
	for fragment, want := range map[string][4]bool{
		"":                                 {true, true, true, true},
		"namespace=team-*":                 {true, true, false, true},
		"namespace=shop,team-a":            {true, true, true, true},
		"severity=high&namespace=team-?":   {false, true, false, true},
		"namespace=other":                  {false, false, false, true},
		"severity=medium":                  {false, true, true, true},
		"namespace=team-a&severity=medium": {false, true, false, true},
	} {
		f, err := Options{}.filter(fragment)
		check.NoError(t, err)
		got := [4]bool{f.take(of("team-a", severity.Low)), f.take(of("team-a", severity.High)), f.take(of("shop", "")),
			f.take(lost)}
		check.Equal(t, got, want, "#%s", fragment)
	}
}

func TestMessagesNameTheirCluster(t *testing.T) {
	e := event{Cluster: "prod", Event: message.Event{ID: "1", Message: &message.Message{Type: message.LockChanged,
		Release: &message.Reference{Namespace: "apps", Name: "shop"}, Lock: &message.Lock{}}}}
	for name, encode := range map[string]encoder{FormatCloudEvents: encodeCloudEvent, FormatJSON: encodeJSON} {
		body, _, err := encode(e)
		check.NoError(t, err)
		var m map[string]any
		check.NoError(t, json.Unmarshal(body, &m))
		check.That(t, m["cluster"] == "prod", "%s: %s", name, body)
	}
	facts := factsOf(e)
	check.That(t, facts[0] == (fact{"Cluster", "prod"}), "the facts are %v", facts)
}
