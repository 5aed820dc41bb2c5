package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/rancher/helm-locker/pkg/values"
)

const (
	// maxMemory bounds the memory of the process, and maxStack the depth of a recursion in it.
	maxMemory = 1 << 30
	maxStack  = 128 << 20
	// memoryEvery is how often the process looks at its memory.
	memoryEvery = 5 * time.Millisecond
	// exitMemory is its exit code when that is too much.
	exitMemory = 3
)

// Serve answers the request on in. It is the whole of the process.
func Serve(in io.Reader, out, errOut io.Writer) error {
	log.SetOutput(io.Discard) // Helm's libraries warn there
	debug.SetMaxStack(maxStack)
	if err := limitMemory(); err != nil {
		return err
	}
	go watchMemory(errOut)
	var request Request
	input, output := json.NewDecoder(in), json.NewEncoder(out)
	if err := input.Decode(&request); err != nil || request.Source == nil {
		return errors.New("this command is a part of helm-locker values")
	}
	var last reply
	var cluster values.Cluster
	if request.Lookup {
		cluster = newParentCluster(input, output)
	}
	answers, err := values.Ask(request.Source, request.Questions, cluster)
	var missing *values.MissingChartsError
	switch {
	case errors.As(err, &missing):
		last.MissingCharts = missing.Names
	case err != nil:
		last.Error = err.Error()
	}
	last.Answers = answers
	return output.Encode(last)
}

// watchMemory ends the process when it has taken too much memory: a template can make a text of any size.
func watchMemory(errOut io.Writer) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(memoryEvery) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > maxMemory {
			fmt.Fprintln(errOut, "rendering takes too much memory")
			os.Exit(exitMemory)
		}
	}
}
