package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestNotifyURLs(t *testing.T) {
	t.Setenv("HELM_LOCKER_NOTIFY_URL", "https://a.example/?x=1,2\nhttps://b.example")
	for name, tc := range map[string]struct{ args, want []string }{
		"from the environment": {nil, []string{"https://a.example/?x=1,2", "https://b.example"}},
		"from flags": {[]string{"--notify-url", "https://c.example/?x=1,2",
			"--notify-url=https://d.example"}, []string{"https://c.example/?x=1,2", "https://d.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := root(io.Discard, io.Discard)
			cmd.Command(notificationsName).Action = func(_ context.Context, c *cli.Command) error {
				if o := notifyOptions(c); !slices.Equal(o.URLs, tc.want) || o.Format != "cloudevents" {
					t.Errorf("options are %+v", o)
				}
				return nil
			}
			check.NoError(t, cmd.Run(t.Context(), append([]string{"helm-locker", notificationsName}, tc.args...)))
		})
	}
}

func TestNotifyURLsAreNotPrinted(t *testing.T) {
	t.Setenv("HELM_LOCKER_NOTIFY_URL", "https://user:hunter2@host:port/")
	for _, args := range [][]string{{"--help"}, {"--kubeconfig", "/does/not/exist"}, {"--nonsense"}} {
		var out bytes.Buffer
		run(t.Context(), append([]string{"helm-locker"}, args...), &out, &out)
		if text := out.String(); text == "" || strings.Contains(text, "hunter2") {
			t.Errorf("%v prints the URL: %s", args, text)
		}
	}
}
