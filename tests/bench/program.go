package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// program is the operator, running as a process of its own.
type program struct {
	path, kubeconfig, namespace string
	pprof                       bool
	log                         *os.File
	args                        []string // beside those that every operator gets

	pid     int
	started time.Time
	ended   chan struct{} // closed when the process is gone; how is set before
	how     error
}

// buildOperator builds the operator of this tree and returns its path.
func buildOperator(ctx context.Context, dir string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := filepath.Join(dir, "helm-locker")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", path, ".")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return path, nil
}

// start starts the operator and returns when it watches.
func (p *program) start(ctx context.Context) error {
	health, err := freeAddress()
	if err != nil {
		return err
	}
	args := []string{"--kubeconfig", p.kubeconfig, "--namespace", p.namespace, "--metrics-address", "0", "--health-address", health}
	if p.pprof {
		args = append(args, "--pprof")
	}
	args = append(args, p.args...)
	cmd := exec.Command(p.path, args...)
	// Nothing of the surroundings changes what is measured.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	ended := make(chan struct{})
	p.started = time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	p.pid, p.ended = cmd.Process.Pid, ended
	go func() {
		p.how = cmd.Wait()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return poll(ctx, 10*time.Millisecond, func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("the operator ended: %w, see %s", p.how, p.log.Name())
		default:
			return ready(ctx, health), nil
		}
	})
}

// stop ends the operator as a cluster would. It may be called when none runs.
func (p *program) stop() error {
	if p.ended == nil {
		return nil
	}
	ended := p.ended
	p.ended = nil
	if err := syscall.Kill(p.pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop the operator: %w", err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		err := syscall.Kill(p.pid, syscall.SIGKILL)
		<-ended
		return errors.Join(errors.New("the operator did not stop when it was asked to"), err)
	}
	if p.how != nil {
		return fmt.Errorf("the operator ended with %w, see %s", p.how, p.log.Name())
	}
	return nil
}

// kill ends the operator as the loss of its node would.
func (p *program) kill() error {
	ended := p.ended
	p.ended = nil
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-ended
	return nil
}

// profile saves one of the operator's profiles, as in profile(ctx, "profile?seconds=5", "storm.cpu"). It does nothing
// when the operator serves none.
func (p *program) profile(ctx context.Context, what, file string) (err error) {
	if !p.pprof {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:6060/debug/pprof/"+what, nil)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(file, content, 0o644)
}

// resident is memory in bytes: now, at most so far, and how much of that now is pages of the program's file, which the
// system can drop at will.
type resident struct{ now, most, program int64 }

// memory returns the resident memory of the operator.
func (p *program) memory() (r resident, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return r, fmt.Errorf("memory of the operator: %w", err)
	}
	fields := map[string]*int64{"VmRSS": &r.now, "VmHWM": &r.most, "RssFile": &r.program}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(line, ":")
		target := fields[name]
		if target == nil {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return r, fmt.Errorf("memory of the operator: %w", err)
		}
		*target = kib << 10
	}
	return r, nil
}

// ticksPerSecond is the unit of times in /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// processor is the processor time that the operator has used.
func (p *program) processor() (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, fmt.Errorf("processor time of the operator: %w", err)
	}
	// The name, in parentheses, may hold spaces. What follows begins with field 3; utime is 14 and stime 15.
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("processor time of the operator: /proc has another form than expected")
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of the operator: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

func ready(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// poll calls holds until it is true, or an error, or ctx ends.
func poll(ctx context.Context, interval time.Duration, holds func() (bool, error)) error {
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
