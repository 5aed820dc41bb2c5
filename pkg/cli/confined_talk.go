package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// conversation is the exchange with the rendering process: a request, lookups with their answers, and a reply.
type conversation struct {
	cluster *lookups
	output  boundedReader
	reply   confinedReply
}

// full reports whether the process gave more than is read of it.
func (c *conversation) full() bool { return c.output.full }

// run starts the process, talks to it and waits for its end.
func (c *conversation) run(ctx context.Context, cmd *exec.Cmd, request confinedRequest) error {
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
	c.output = boundedReader{from: stdout, left: maxRenderOutput}
	talked := c.talk(ctx, stdin, request)
	// Without its pipes, a process that still writes or waits ends.
	closed := errors.Join(stdin.Close(), stdout.Close())
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.Join(talked, closed)
}

// talk sends the request, and answers lookups until the reply.
func (c *conversation) talk(ctx context.Context, stdin io.Writer, request confinedRequest) error {
	to, from := json.NewEncoder(stdin), json.NewDecoder(&c.output)
	if err := to.Encode(request); err != nil {
		return fmt.Errorf("send the release to the rendering process: %w", err)
	}
	for {
		c.reply = confinedReply{}
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

// errFull is the error of a boundedReader with nothing left.
var errFull = errors.New("too much output")

// boundedReader reads so many bytes, and fails when there are more.
type boundedReader struct {
	from io.Reader
	left int
	full bool
}

// Read is part of io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		b.full = true
		return 0, errFull
	}
	b.left -= n
	return n, err
}
