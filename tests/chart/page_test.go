package chart

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// viewers are those who read a page at an address, with a token.
type viewers struct {
	*kit.Env
	url, token string
}

// see opens the stream of the page, and returns an error unless a text comes: what the page finds out for a new viewer
// comes after the list.
func (v viewers) see(text string) error {
	ctx, cancel := context.WithTimeout(v.Ctx, 20*time.Second)
	defer cancel()
	response, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var all strings.Builder
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return nil
		}
		all.WriteString(lines.Text() + "\n")
	}
	return fmt.Errorf("%s: %s", response.Status, all.String())
}

func (v viewers) open(ctx context.Context) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+"events", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+v.token)
	return http.DefaultClient.Do(request)
}

// flood opens more streams than the page serves, and reads nothing of them until ctx ends.
func (v viewers) flood(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	for range 100 {
		running.Go(func() {
			response, err := v.open(ctx)
			if err != nil {
				return // it is refused, or the flood is over
			}
			<-ctx.Done()
			_ = response.Body.Close()
		})
	}
	return running.Wait
}

// The chart's values of the time when the operator served the page start a process with exactly the rights that it
// uses. It is flooded, frozen and killed while drift is reverted, which goes on; and it goes on without the operator.
func TestThePageKeepsWorkingWithTheChart(t *testing.T) {
	e := newEnv(t)
	h := kit.Shared.Helm4()
	install(e, h, freePorts(t))
	before := startDeployment(e, kit.Shared, "helm-locker")
	helmRelease := installExample(e, h)
	e.WaitReady(helmRelease, 1)

	values := fmt.Sprintf("{page: {enabled: true, port: %d}}", freePort(t))
	install(e, h, freePorts(t), values)
	operator := startDeployment(e, kit.Shared, "helm-locker")
	before.stop()
	install(e, h, freePorts(t), values) // all Pods share one network here
	const account = "helm-locker-page"
	page := startDeployment(e, kit.Shared, account)
	v := viewers{e, page.url("page"), e.Administrator()}
	e.Eventually("the release is on the page", func() error { return v.see(e.Operator + "/" + helmRelease) })
	status, body := kit.HTTPGet(t, v.url+"diff?namespace="+e.Operator+"&name="+helmRelease, v.token)
	check.That(t, status == http.StatusOK && strings.Contains(body, `"compared":1`),
		"the comparison is answered with %d %s", status, body)
	check.NoError(t, get(page.metrics))

	reverts := func(what string) {
		t.Helper()
		for i := range 5 {
			e.Patch(kit.ConfigMaps, "example", fmt.Sprintf(`{"data":{"message":"%s %d"}}`, what, i))
			e.WaitField(kit.ConfigMaps, "example", "data.message", "Only Helm can change this")
		}
	}
	flooding, end := context.WithCancel(t.Context())
	wait := v.flood(flooding)
	reverts("flooded")
	check.NoError(t, page.cmd.Process.Signal(syscall.SIGSTOP))
	reverts("frozen")
	check.NoError(t, page.cmd.Process.Signal(syscall.SIGCONT))
	end()
	wait()
	operator.stop()
	e.Eventually("the operator that is gone is named", func() error {
		return v.see("no operator helm-locker is running in namespace " + e.Operator)
	})
	install(e, h, freePorts(t), values)
	startDeployment(e, kit.Shared, "helm-locker")
	check.NoError(t, page.cmd.Process.Kill())
	<-page.done
	reverts("killed")

	expectNoMore(e, account, "leases")
}
