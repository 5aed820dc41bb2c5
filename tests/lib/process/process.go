// Package process runs the operator as a separate process, for tests of its death, its memory and its processor time.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Operator is the operator, running as a process of its own. Its methods must not be called concurrently.
type Operator struct {
	// Path is the program; Kubeconfig and Namespace are its flags.
	Path, Kubeconfig, Namespace string
	// Pprof has it serve profiles on localhost:6060.
	Pprof bool
	// Log receives its output.
	Log *os.File
	// Metrics is the address of its metrics; none when empty.
	Metrics string
	// Args are more arguments for it, Env more of its environment.
	Args, Env []string
	// OwnGroup gives the process its own group: a Ctrl-C for this program does not reach it.
	OwnGroup bool

	process *os.Process
	started time.Time
	ended   chan struct{} // closed when the process is gone; how is set before
	how     error
}

// Programs beside the operator.
const (
	Commands      = "helm-locker"
	Notifications = "helm-locker-notifications"
)

// Build builds the operator of this tree, and other programs, into a directory, as scripts/build does. It returns the
// operator's path.
func Build(ctx context.Context, dir string, others ...string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := filepath.Join(dir, "helm-locker-operator")
	sources := map[string][]string{path: {"-tags", "urfave_cli_no_template", "."}}
	for _, name := range others {
		sources[filepath.Join(dir, name)] = []string{"./cmd/" + name}
	}
	for file, source := range sources {
		args := append([]string{"build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w",
			"-overlay", os.Getenv("HELM_LOCKER_OVERLAY"), "-o", file}, source...) // a mutant's, of tests/cmd/mutants
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", file, err, out)
		}
	}
	return path, nil
}

// CLI returns the path of the commands built by Build beside an operator.
func CLI(operator string) string { return filepath.Join(filepath.Dir(operator), Commands) }

// Main is for a TestMain whose tests need the program: it builds all programs, passes the operator's path to run, and
// removes them afterwards. The result is the exit code of run, or 1.
func Main(run func(path string) int) (code int) {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	dir, err := os.MkdirTemp("", "helm-locker-program-")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			code = fail(err)
		}
	}()
	path, err := Build(context.Background(), dir, Commands, Notifications)
	if err != nil {
		return fail(err)
	}
	return run(path)
}

// Start starts the operator and returns when it watches.
func (p *Operator) Start(ctx context.Context) error {
	health, err := FreeAddress()
	if err != nil {
		return err
	}
	metrics := p.Metrics
	if metrics == "" {
		metrics = "0"
	}
	args := []string{"--kubeconfig", p.Kubeconfig, "--namespace", p.Namespace, "--metrics-address", metrics,
		"--health-address", health}
	if p.Pprof {
		args = append(args, "--pprof")
	}
	args = append(args, p.Args...)
	cmd := exec.Command(p.Path, args...)
	// The surrounding environment does not influence the measurements.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.Env = append(cmd.Env, p.Env...)
	cmd.Stdout, cmd.Stderr = p.Log, p.Log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: p.OwnGroup}
	ended := make(chan struct{})
	p.started = time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	p.process, p.ended = cmd.Process, ended
	go func() {
		p.how = cmd.Wait()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return Poll(ctx, 10*time.Millisecond, func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("the operator ended: %w, see %s", p.how, p.Log.Name())
		default:
			return Ready(ctx, health), nil
		}
	})
}

// Running reports whether the process has been started and has not ended, by itself or by Stop or Kill.
func (p *Operator) Running() bool {
	if p.ended == nil {
		return false
	}
	select {
	case <-p.ended:
		p.ended = nil
		return false
	default:
		return true
	}
}

// Started returns when the operator was started last.
func (p *Operator) Started() time.Time { return p.started }

// Stop ends the operator as a cluster would. It may be called when none runs.
func (p *Operator) Stop() error {
	if p.ended == nil {
		return nil
	}
	ended := p.ended
	p.ended = nil
	if err := p.process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the operator: %w", err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		err := p.process.Kill()
		<-ended
		return errors.Join(errors.New("the operator did not stop when it was asked to"), err)
	}
	if p.how != nil {
		return fmt.Errorf("the operator ended with %w, see %s", p.how, p.Log.Name())
	}
	return nil
}

// Kill ends the operator as the loss of its node would.
func (p *Operator) Kill() error {
	ended := p.ended
	p.ended = nil
	if err := p.process.Kill(); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-ended
	return nil
}

// FreeAddress returns a loopback address with a FreePort.
func FreeAddress() (string, error) {
	port, err := FreePort()
	return loopback(port), err
}

// FreePort returns a TCP port without a listener on 127.0.0.1 at the time of the call. It is below the ports that Linux
// gives to outgoing connections and to listeners without a port of their own: such a one could take it meanwhile.
func FreePort() (int, error) {
	const first, end, attempts = 10000, 32768, 100
	var err error
	for range attempts {
		port := first + rand.IntN(end-first)
		var listener net.Listener
		if listener, err = net.Listen("tcp", loopback(port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Ready reports whether the operator with its health endpoint at an address is ready.
func Ready(ctx context.Context, address string) bool {
	_, err := Get(ctx, "http://"+address+"/readyz")
	return err == nil
}

// Get returns the content of a URL.
func Get(ctx context.Context, url string) (content []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("get %s: %s", url, response.Status)
	}
	return io.ReadAll(response.Body)
}

// Poll calls holds until it is true, or an error, or ctx ends.
func Poll(ctx context.Context, interval time.Duration, holds func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// Sleep returns after d, or with an error when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
