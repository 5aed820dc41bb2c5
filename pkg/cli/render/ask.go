package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/values"
)

// Ask answers questions about a release in a process of its own, within some time. cluster answers its lookups.
func Ask(
	ctx context.Context, timeout time.Duration, request Request, cluster *Lookups,
) (*values.Answers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, Command) //nolint:gosec // this program itself
	cmd.Env = []string{}
	if root := os.Getenv("SYSTEMROOT"); root != "" {
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+root) // no program starts on Windows without it
	}
	talk := &conversation{cluster: cluster}
	err = talk.run(bounded, cmd, request)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, command.Hinted(fmt.Errorf("rendering the chart takes longer than %s", timeout),
			"--timeout gives it more time")
	case errors.As(err, &exit) && exit.ExitCode() == exitMemory:
		return nil, fmt.Errorf("rendering the chart takes more than %d MiB of memory", maxMemory>>20)
	case talk.full():
		return nil, fmt.Errorf("rendering the chart gives more than %d MiB", maxOutput>>20)
	case err != nil:
		return nil, fmt.Errorf("rendering the chart broke off: its templates recurse too deep or need too much memory (%w)", err)
	}
	return talk.reply.answers()
}

// conversation is the exchange with the rendering process: a request, lookups with their answers, and a reply.
type conversation struct {
	cluster *Lookups
	output  boundedReader
	reply   reply
}

// full reports whether the process gave more than is read of it.
func (c *conversation) full() bool { return c.output.full }

// run starts the process, talks to it and waits for its end.
func (c *conversation) run(ctx context.Context, cmd *exec.Cmd, request Request) error {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("connect to the rendering process: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to the rendering process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the rendering process: %w", err)
	}
	c.output = boundedReader{from: stdout, left: maxOutput}
	talked := c.talk(ctx, stdin, request)
	// Without its pipes, a process that still writes or waits ends.
	closed := errors.Join(stdin.Close(), stdout.Close())
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.Join(talked, closed)
}

// talk sends the request, and answers lookups until the reply.
func (c *conversation) talk(ctx context.Context, stdin io.Writer, request Request) error {
	to, from := json.NewEncoder(stdin), json.NewDecoder(&c.output)
	if err := to.Encode(request); err != nil {
		return fmt.Errorf("send the release to the rendering process: %w", err)
	}
	for {
		c.reply = reply{}
		if err := from.Decode(&c.reply); err != nil {
			return fmt.Errorf("the answer of the rendering process is no JSON: %w", err)
		}
		if c.reply.Lookup == nil {
			return nil
		}
		if !request.Lookup {
			return errors.New("the rendering process looks objects up, which it must not")
		}
		if err := to.Encode(c.cluster.answer(ctx, *c.reply.Lookup)); err != nil {
			return fmt.Errorf("answer the rendering process: %w", err)
		}
	}
}
