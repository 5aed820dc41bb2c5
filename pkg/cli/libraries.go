package cli

import (
	"io"

	"os"
	"runtime/debug"

	lassolog "github.com/rancher/lasso/pkg/log"
	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
)

// gcPercent makes the collector run earlier than Go's default of 100. Decoding is nearly all that the operator allocates,
// and what is live is small, so collecting more often costs little and halves what a burst leaves behind.
const gcPercent = 50

// tuneMemory sets the collector up unless the environment does.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// quietKlog drops what client-go logs on its own: errors that matter are returned, too.
func quietKlog() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

// quietLibraries has what libraries log in their own format, which repeats what we report, go to our log at level trace, and
// nowhere at other levels. Only the program does this: a program that embeds the operator keeps its own settings.
func quietLibraries(log *logrus.Logger) {
	lassolog.Infof, lassolog.Errorf = log.Tracef, log.Debugf
	w := io.Discard
	if log.IsLevelEnabled(logrus.TraceLevel) {
		w = log.WriterLevel(logrus.TraceLevel)
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
}
