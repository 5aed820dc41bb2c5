package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/values"
)

// Templates of a chart are programs of other people's: they run in a process of their own, without an environment,
// which ends when it takes too long or too much.
const (
	confinedCommand = "render"
	// maxRenderMemory bounds the memory of that process, maxRenderStack the depth of a recursion in it, and
	// maxRenderOutput what is read of its answer.
	maxRenderMemory = 1 << 30
	maxRenderStack  = 128 << 20
	maxRenderOutput = 64 << 20
	// memoryEvery is how often the process looks at its memory.
	memoryEvery = 5 * time.Millisecond
	// exitMemory is its exit code when that is too much.
	exitMemory = 3
)

// confinedRequest is the first message to the process. An answer to each lookup of its templates follows.
type confinedRequest struct {
	Source    *values.Source
	Questions []values.Question
	// Lookup permits lookups.
	Lookup bool
}

// confinedReply is a message of the process: a lookup, or the last one.
type confinedReply struct {
	// Lookup, if set, asks for objects of the cluster.
	Lookup  *lookup
	Answers *values.Answers
	Error   string
	// MissingCharts are the sub-charts that Helm did not record.
	MissingCharts []string
}

// renderCommand is the process in which charts are rendered.
func (a *app) renderCommand() *cli.Command {
	return &cli.Command{
		Name: confinedCommand, Hidden: true, HideHelpCommand: true,
		Usage: "answer the questions on standard input; for helm-locker values",
		Action: func(context.Context, *cli.Command) error {
			log.SetOutput(io.Discard) // Helm's libraries warn there
			debug.SetMaxStack(maxRenderStack)
			if err := limitMemory(); err != nil {
				return err
			}
			go watchMemory(a.errOut)
			var request confinedRequest
			input, output := json.NewDecoder(a.in), json.NewEncoder(a.out)
			if err := input.Decode(&request); err != nil || request.Source == nil {
				return errors.New("this command is a part of helm-locker values")
			}
			var reply confinedReply
			var cluster values.Cluster
			if request.Lookup {
				cluster = newParentCluster(input, output)
			}
			answers, err := values.Ask(request.Source, request.Questions, cluster)
			var missing *values.MissingChartsError
			switch {
			case errors.As(err, &missing):
				reply.MissingCharts = missing.Names
			case err != nil:
				reply.Error = err.Error()
			}
			reply.Answers = answers
			return output.Encode(reply)
		},
	}
}

// watchMemory ends the process when it has taken too much memory: a template can make a text of any size.
func watchMemory(errOut io.Writer) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(memoryEvery) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > maxRenderMemory {
			fmt.Fprintln(errOut, "rendering takes too much memory")
			os.Exit(exitMemory)
		}
	}
}

// ask answers questions about a release in a process of its own, within some time. cluster answers its lookups.
func (a *app) ask(
	ctx context.Context, timeout time.Duration, request confinedRequest, cluster *lookups,
) (*values.Answers, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, confinedCommand) //nolint:gosec // this program itself
	cmd.Env = []string{}
	if root := a.env("SYSTEMROOT"); root != "" {
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
		return nil, fmt.Errorf("rendering the chart takes more than %d MiB of memory", maxRenderMemory>>20)
	case talk.full():
		return nil, fmt.Errorf("rendering the chart gives more than %d MiB", maxRenderOutput>>20)
	case err != nil:
		return nil, fmt.Errorf("rendering the chart broke off: its templates recurse too deep or need too much memory (%w)", err)
	}
	return talk.reply.answers()
}

func (reply *confinedReply) answers() (*values.Answers, error) {
	switch {
	case len(reply.MissingCharts) > 0:
		return nil, &values.MissingChartsError{Names: reply.MissingCharts}
	case reply.Error != "":
		return nil, &renderError{reply.Error}
	}
	return reply.Answers, nil
}

// renderError is an error in the words of a chart's templates, which may quote any value.
type renderError struct{ text string }

func (e *renderError) Error() string { return shortened(e.text) }

// shortened keeps the beginning and the end of an error: that of a recursion repeats itself a thousand times.
func shortened(text string) string {
	const most = 300
	if len(text) <= 2*most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " [...] " + strings.ToValidUTF8(text[len(text)-most:], "")
}
