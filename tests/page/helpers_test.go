package page

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func encode(t testing.TB, content any) string {
	t.Helper()
	encoded, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// firstEvents returns what a stream of events begins with: all there is to know.
func firstEvents(t *testing.T, url, token string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	as(token)(request)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var all strings.Builder
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && lines.Text() != "event: listed" {
		all.WriteString(lines.Text() + "\n")
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
