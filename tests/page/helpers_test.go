package page

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// encode returns a value as JSON, and a text as a literal of JavaScript.
func encode(t testing.TB, content any) string {
	t.Helper()
	encoded, err := json.Marshal(content)
	check.NoError(t, err)
	return string(encoded)
}

// firstEvents returns the beginning of a stream of events: the complete state.
func firstEvents(t *testing.T, url, token string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	check.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	check.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	var all strings.Builder
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && lines.Text() != "event: listed" {
		all.WriteString(lines.Text() + "\n")
	}
	check.NoError(t, lines.Err())
	return all.String()
}
