package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// mostContexts bounds the clusters that are read at the same time.
const mostContexts = 8

// located is what a command read in one cluster.
type located[T any] struct {
	// Context is the cluster; its name is empty for the one cluster of a command without --contexts.
	report.Context
	// read is nil when nothing was read.
	read *T
	// err decides the exit code: the reason why nothing was read, or the finding of the command.
	err error
}

// readContexts calls read for the cluster of the flags, or side by side for each context of --contexts, with an action
// of its own. An error of one context is in its result and does not affect the others; the returned error is about all.
// The notes of each context are printed together, after its name.
func readContexts[T any](
	ctx context.Context, a *action, read func(*action) (*T, error),
) ([]located[T], error) {
	contexts, err := a.contexts()
	if err != nil {
		return nil, err
	}
	if contexts == nil {
		one, err := read(a)
		if one == nil {
			return nil, err
		}
		return []located[T]{{read: one, err: err}}, nil
	}
	var stdin []byte
	if a.cmd.String("filename") == "-" {
		if stdin, err = io.ReadAll(a.in); err != nil {
			return nil, fmt.Errorf("read the standard input: %w", err)
		}
	}
	all, notes := make([]located[T], len(contexts)), make([]bytes.Buffer, len(contexts))
	a.sideBySide(contexts, mostContexts, func(i int, one *action) {
		one.in, one.errOut = bytes.NewReader(stdin), &notes[i]
		all[i].Context = contexts[i]
		all[i].read, all[i].err = read(one)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i := range all {
		a.noteIn(all[i].Name, notes[i].String())
		all[i].Error = messageOf(all[i].err)
		all[i].Unread = all[i].read == nil
	}
	return all, shared(all)
}

// sideBySide calls do for each context with an action of its own, most at a time, and returns when all calls have.
func (a *action) sideBySide(contexts []report.Context, most int, do func(i int, one *action)) {
	slots := make(chan struct{}, most)
	var running sync.WaitGroup
	for i := range contexts {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one := *a
			one.context, one.errTTY = contexts[i].Name, false
			do(i, &one)
		})
	}
	running.Wait()
}

// messageOf returns the message of an error; empty for one that is nothing but an exit code.
func messageOf(err error) string {
	var exit *command.ExitError
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return ""
	}
	return err.Error()
}

// shared returns the error that several clusters have in common, such as that of a file, if nothing was read in any.
func shared[T any](all []located[T]) error {
	others := 0
	for _, l := range all {
		if !l.Unread || l.Error != all[0].Error {
			return nil
		}
		if l.Cluster != all[0].Cluster {
			others++
		}
	}
	if others == 0 {
		return nil // it may be that of the one cluster
	}
	return all[0].err
}

// exitOf prints the errors of the contexts, and returns the error for the exit code of a command. An error in one
// context is an error of the command, and drift in one is drift.
func exitOf[T any](a *action, all []located[T]) error {
	for _, l := range all {
		if l.Name == "" {
			return l.err
		}
		a.printErrorIn(l.Name, l.err)
	}
	return worst(all)
}

// worst returns the error for the exit code of several contexts.
func worst[T any](all []located[T]) error {
	code := command.ExitOK
	for _, l := range all {
		if of := exitCode(l.err); seriousness(of) > seriousness(code) {
			code = of
		}
	}
	if code == command.ExitOK {
		return nil
	}
	return &command.ExitError{Code: code}
}

// printErrorIn prints the error of a context, if it has a message.
func (a *action) printErrorIn(context string, err error) {
	if messageOf(err) != "" {
		fmt.Fprintln(a.errOut, inContext(context, explain(a.name, fmt.Errorf("context %s: %w", context, err))))
	}
}

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	var code *command.ExitError
	var missing *inspect.NotFoundError
	switch {
	case err == nil:
		return command.ExitOK
	case errors.As(err, &code):
		return code.Code
	case errors.As(err, &missing) && missing.Revision == 0:
		return command.ExitEmpty
	case errors.Is(err, command.ErrNoCommand):
		return command.ExitFound
	}
	return command.ExitFailed
}

// seriousness orders exit codes: an error hides what was not read, and a finding counts for more than a cluster in
// which nothing was selected.
func seriousness(code int) int {
	return slices.Index([]int{command.ExitOK, command.ExitEmpty, command.ExitFound, command.ExitFailed}, code)
}

// noteIn prints lines that were noted about a context after its name, with their commands for that context.
func (a *action) noteIn(context, lines string) {
	for line := range strings.Lines(lines) {
		if context != "" {
			line = plain.Line(context) + ": " + inContext(context, strings.TrimPrefix(line, a.name+": "))
		}
		fmt.Fprint(a.errOut, line)
	}
}

// contextsOf returns the contexts that were read, for programs; nil for a command without --contexts.
func contextsOf[T any](all []located[T]) (contexts []report.Context) {
	for _, l := range all {
		if l.Name != "" {
			contexts = append(contexts, l.Context)
		}
	}
	return contexts
}

// isLocated reports whether the results are those of contexts.
func isLocated[T any](all []located[T]) bool { return len(all) > 0 && all[0].Name != "" }
