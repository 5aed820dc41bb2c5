package process

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A message is one line, and moves no cursor, with any quoted text: on a terminal, too, where logrus itself does not
// quote.
func TestLogLinesAreNeutral(t *testing.T) {
	const hostile = "object a\x1b[2J\x1b]0;pwned\a\nlevel=info msg=\"all is well\"\r\u202e"
	for name, format := range map[string]string{"text": "text", "json": "json", "terminal": "text"} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLogger(&out, "info", format)
			check.NoError(t, err)
			if name == "terminal" {
				log.SetFormatter(neutral{&logrus.TextFormatter{ForceColors: true}})
			}
			log.WithField("object", hostile).Info(hostile)
			text := strings.TrimSuffix(out.String(), "\n")
			if name == "terminal" { // the colours are its own
				text = strings.NewReplacer("\x1b[36m", "", "\x1b[0m", "").Replace(text)
			}
			at := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == '\u202e' && name != "json" })
			check.That(t, at < 0, "byte %d of %q", at, text)
			check.That(t, strings.Contains(text, "all is well"), "the message is gone: %q", text)
		})
	}
}
