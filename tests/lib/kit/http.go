package kit

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// URL returns the base URL of an operator's "page" or "metrics". The operator must have been started with an address
// for it, such as 127.0.0.1:0.
func (e *Env) URL(o *Operator, what string) string {
	e.Helper()
	address := regexp.MustCompile(what + ` on (?:http://)?([\d.:]+)`)
	var found []string
	e.Eventually("the "+what+" is served", func() error {
		if found = address.FindStringSubmatch(o.Log()); found == nil {
			return errors.New("the log does not say where")
		}
		return nil
	})
	return "http://" + found[1]
}

// HTTPGet returns the answer to a GET, with a bearer token unless token is empty.
func HTTPGet(t testing.TB, url, token string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	check.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	check.NoError(t, err)
	content, err := io.ReadAll(answer.Body)
	check.NoError(t, errors.Join(err, answer.Body.Close()))
	return answer.StatusCode, string(content)
}
