package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/process"
)

// program is a running container.
type program struct {
	cmd   *exec.Cmd
	ended chan struct{}
	// started is set when it is ready. A program stopped before that may fail.
	started, stopping atomic.Bool
}

// launch starts the program of a Pod, unless the Pod or the kubelet has ended meanwhile: it would never be stopped
// then.
func (k *kubelet) launch(uid types.UID, args, env []string, path string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.gone[uid] {
		return nil
	}
	log, err := os.Create(path)
	if err != nil {
		return err
	}
	cmd := exec.Command(k.binary, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	p := &program{cmd: cmd, ended: make(chan struct{})}
	k.programs[uid] = p
	k.wg.Go(func() {
		defer close(p.ended)
		if err := cmd.Wait(); err != nil && (p.started.Load() || !p.stopping.Load() ||
			strings.Contains(err.Error(), "status 2")) {
			text, readErr := os.ReadFile(path)
			k.failed(fmt.Errorf("helm-locker %s: %w\n%s", strings.Join(args, " "), errors.Join(err, readErr), text))
		}
	})
	return nil
}

// ready waits until a program is ready. Its end is no error here: launch reports it.
func (k *kubelet) ready(ctx context.Context, uid types.UID, health string) error {
	k.mu.Lock()
	p := k.programs[uid]
	k.mu.Unlock()
	if p == nil {
		return nil
	}
	return process.Poll(ctx, 20*time.Millisecond, func() (bool, error) {
		select {
		case <-p.ended:
			return true, nil
		default:
		}
		if !process.Ready(ctx, health) {
			return false, nil
		}
		p.started.Store(true)
		return true, nil
	})
}

// stop ends the program of a Pod, as a kubelet does.
func (k *kubelet) stop(uid types.UID) {
	k.mu.Lock()
	p := k.programs[uid]
	delete(k.programs, uid)
	k.gone[uid] = true
	k.mu.Unlock()
	if p == nil {
		return
	}
	p.stopping.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		k.failed(err)
	}
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		// Go then prints all stacks into the log shown by launch.
		k.failed(errors.Join(errors.New("helm-locker does not end within 30 s of a SIGTERM"),
			p.cmd.Process.Signal(syscall.SIGQUIT)))
	}
}

// stopAll ends all programs, and has no other start.
func (k *kubelet) stopAll() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	for _, uid := range k.running() {
		k.wg.Go(func() { k.stop(uid) })
	}
}

// settle waits until the started programs are ready: a page may end while one still starts.
func (k *kubelet) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// Late ones have no page to fail.
	_ = process.Poll(ctx, 20*time.Millisecond, func() (bool, error) { return k.settled(), nil })
}

func (k *kubelet) settled() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.programs {
		select {
		case <-p.ended:
		default:
			if !p.started.Load() {
				return false
			}
		}
	}
	return true
}

func (k *kubelet) running() []types.UID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var uids []types.UID
	for uid := range k.programs {
		uids = append(uids, uid)
	}
	return uids
}

// logs returns the ends of the logs of all running programs.
func (k *kubelet) logs() string {
	var all []string
	for _, uid := range k.running() {
		text, err := os.ReadFile(filepath.Join(k.dir, string(uid)+".log"))
		if err != nil {
			all = append(all, err.Error())
		}
		all = append(all, string(text[max(0, len(text)-4000):]))
	}
	return strings.Join(all, "\n---\n")
}
