package page

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func encode(t testing.TB, content any) string {
	t.Helper()
	encoded, err := json.Marshal(content)
	check.NoError(t, err)
	return string(encoded)
}

// firstEvents returns what a stream of events begins with: all there is to know.
func firstEvents(t *testing.T, url, token string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	check.NoError(t, err)
	as(token)(request)
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

type response struct {
	status int
	header http.Header
	body   string
}

func get(t *testing.T, url string, change func(*http.Request)) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check.NoError(t, err)
	if change != nil {
		change(request)
	}
	answer, err := http.DefaultClient.Do(request)
	check.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	check.NoError(t, err)
	return response{answer.StatusCode, answer.Header, string(body)}
}
