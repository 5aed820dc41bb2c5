// Package process runs the operator as a process of its own, for what cannot be tested or measured inside of the
// test: its death, its memory, its processor time.
package process

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

// Operator is the operator, running as a process of its own. Its methods must not be called concurrently.
type Operator struct {
	// Path is the program, Kubeconfig and Namespace are what it is given.
	Path, Kubeconfig, Namespace string
	// Pprof has it serve profiles on localhost:6060.
	Pprof bool
	// Log receives what it prints.
	Log *os.File
	// Metrics is the address of its metrics; none when empty.
	Metrics string
	// Args are more arguments for it, Env more of its environment.
	Args, Env []string
	// OwnGroup keeps it from a Ctrl-C that is for this program, which stops it in an orderly way.
	OwnGroup bool

	process *os.Process
	started time.Time
	ended   chan struct{} // closed when the process is gone; how is set before
	how     error
}

// Build builds the operator of this tree, with the flags of scripts/build, and returns its path.
func Build(ctx context.Context, dir string) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	path := filepath.Join(dir, "helm-locker")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return path, nil
}

// Main is for a TestMain whose tests need the program: it builds the operator, hands its path to run, and removes it
// after that. The result is the exit code of run, or 1.
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
	path, err := Build(context.Background(), dir)
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
	// Nothing of the surroundings changes what is measured.
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
			return ready(ctx, health), nil
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

// Profile saves one of the operator's profiles, as in Profile(ctx, "profile?seconds=5", "storm.cpu"). It does nothing
// when the operator serves none.
func (p *Operator) Profile(ctx context.Context, what, file string) (err error) {
	if !p.Pprof {
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

// Resident is memory in bytes: now, at most so far, and how much of that now is pages of the program's file, which the
// system can drop at will.
type Resident struct{ Now, Most, Program int64 }

// Own returns what the process holds now of its own, in bytes: how many pages of its program's file are resident
// says more about the system than about the process.
func (r Resident) Own() int64 { return r.Now - r.Program }

// Memory returns the resident memory of the operator.
func (p *Operator) Memory() (r Resident, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Pid))
	if err != nil {
		return r, fmt.Errorf("memory of the operator: %w", err)
	}
	fields := map[string]*int64{"VmRSS": &r.Now, "VmHWM": &r.Most, "RssFile": &r.Program}
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

// Sockets returns how many sockets the operator has open: connections, and what it listens on.
func (p *Operator) Sockets() (n int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", p.process.Pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("open files of the operator: %w", err)
	}
	for _, file := range files {
		target, err := os.Readlink(filepath.Join(dir, file.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // it may have been closed since
			return 0, fmt.Errorf("open files of the operator: %w", err)
		}
		if strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n, nil
}

// ticksPerSecond is the unit of times in /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

// Processor is the processor time that the operator has used.
func (p *Operator) Processor() (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.process.Pid))
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

// FreeAddress returns an address on loopback that nothing listened on a moment ago.
func FreeAddress() (string, error) {
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
