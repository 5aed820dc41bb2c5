package command

import (
	"io"

	lassolog "github.com/rancher/lasso/pkg/log"
	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"
)

// QuietLibraries redirects the logs of libraries to our log at level trace, and discards them at other levels: their
// format differs, and they repeat our reports. Only the program does this: a program that embeds the operator keeps its
// own settings.
func QuietLibraries(log *logrus.Logger) {
	lassolog.Infof, lassolog.Errorf = log.Tracef, log.Debugf
	w := io.Discard
	if log.IsLevelEnabled(logrus.TraceLevel) {
		w = log.WriterLevel(logrus.TraceLevel)
	}
	klog.LogToStderr(false)
	klog.SetOutput(w)
}
