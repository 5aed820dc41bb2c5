package docs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// commandTime is how long a command of a page may take on a busy machine.
const commandTime = 2 * time.Minute

// driver makes bash read commands from files named on descriptor 3, and report on descriptor 4. Variables set by a
// command stay set for later ones, as in a terminal.
const driver = `shopt -s expand_aliases
while IFS=' ' read -r -u 3 file out; do
	source "$file" >"$out" 2>&1 </dev/null 3<&- 4>&-
	echo "$?" >&4
done`

// shell is the terminal of a page's reader.
type shell struct {
	dir   string // for its own files
	cmd   *exec.Cmd
	names io.WriteCloser
	codes *bufio.Reader
	count int
	jobs  []*job
}

// job is a command that runs until it is interrupted.
type job struct {
	command
	promised *fence
	cmd      *exec.Cmd
	out      string
	ended    chan error
}

// newShell starts a shell in a directory. Its own files go to another.
func newShell(dir, own string, env []string) (_ *shell, err error) {
	namesRead, names, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	codes, codesWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, namesRead.Close(), names.Close())
	}
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", driver)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = dir, env, []*os.File{namesRead, codesWrite}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	if err := errors.Join(err, namesRead.Close(), codesWrite.Close()); err != nil {
		return nil, err
	}
	return &shell{dir: own, cmd: cmd, names: names, codes: bufio.NewReader(codes)}, nil
}

// run runs a command and returns its output, on either stream, and its exit code.
func (s *shell) run(text string) (output string, code int, err error) {
	s.count++
	file, out := filepath.Join(s.dir, fmt.Sprintf("%d.sh", s.count)), filepath.Join(s.dir, fmt.Sprintf("%d.out", s.count))
	if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
		return "", 0, err
	}
	if _, err := fmt.Fprintf(s.names, "%s %s\n", file, out); err != nil {
		return "", 0, fmt.Errorf("the shell has ended: %w", err)
	}
	impatience := time.AfterFunc(commandTime, func() { _ = s.kill() }) // the read below then fails
	line, err := s.codes.ReadString('\n')
	late := !impatience.Stop()
	printed, readErr := os.ReadFile(out)
	if err != nil {
		why := "the shell has ended"
		if late {
			why = fmt.Sprintf("it does not end within %s", commandTime)
		}
		return string(printed), 0, fmt.Errorf("%s:\n%s", why, printed)
	}
	if readErr != nil {
		return "", 0, readErr
	}
	code, err = strconv.Atoi(strings.TrimSpace(line))
	return string(printed), code, err
}

// start starts a command that runs until it is interrupted, in the present state of the shell.
func (s *shell) start(c command, promised *fence) error {
	state := filepath.Join(s.dir, fmt.Sprintf("job-%d", len(s.jobs)))
	if out, code, err := s.run(fmt.Sprintf("{ export -p; printf 'cd %%q\\n' \"$PWD\"; } >%s", state)); err != nil ||
		code != 0 {
		return fmt.Errorf("save the state of the shell: %w: %s", err, out)
	}
	j := &job{command: c, promised: promised, out: state + ".out", ended: make(chan error, 1)}
	out, err := os.Create(j.out)
	if err != nil {
		return err
	}
	j.cmd = exec.Command("bash", "--norc", "--noprofile", "-c", "source "+state+"\nexec "+c.text)
	j.cmd.Env, j.cmd.Stdout, j.cmd.Stderr = []string{}, out, out
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(j.cmd.Start(), out.Close()); err != nil {
		return err
	}
	go func() { j.ended <- j.cmd.Wait() }()
	s.jobs = append(s.jobs, j)
	return nil
}

// printed returns a job's output so far.
func (j *job) printed() (string, error) {
	text, err := os.ReadFile(j.out)
	return string(text), err
}

// hasBegun returns an error as long as a job has printed nothing.
func (j *job) hasBegun() error {
	text, err := j.printed()
	if err == nil && text == "" {
		err = errors.New("it prints nothing")
	}
	return err
}

// interrupt types Ctrl-C, and waits for the end of the job. A job that had ended before is an error.
func (j *job) interrupt() error {
	select {
	case err := <-j.ended:
		return fmt.Errorf("it ended by itself (%w)", errors.Join(errors.New("until Ctrl-C"), err))
	default:
	}
	if err := syscall.Kill(-j.cmd.Process.Pid, syscall.SIGINT); err != nil {
		return err
	}
	impatience := time.NewTimer(commandTime)
	defer impatience.Stop()
	select {
	case err := <-j.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) &&
			(exit.ExitCode() == 130 || exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGINT) {
			return nil
		}
		return err
	case <-impatience.C:
		return errors.Join(errors.New("it does not end at Ctrl-C"), syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL))
	}
}

func (s *shell) kill() error {
	if err := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// close ends the shell and all its child processes.
func (s *shell) close() error {
	err := s.names.Close()
	for _, j := range s.jobs {
		if killErr := syscall.Kill(-j.cmd.Process.Pid, syscall.SIGKILL); killErr != nil &&
			!errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, killErr)
		}
	}
	err = errors.Join(err, s.kill())
	var exit *exec.ExitError
	if waitErr := s.cmd.Wait(); waitErr != nil && !errors.As(waitErr, &exit) { // killed is how it ends
		err = errors.Join(err, waitErr)
	}
	return err
}
