package process

import (
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/rest"
)

// traceRequests logs every request through config at level trace, if log has that level: method, path, status and the
// time until the answer began. It logs neither queries nor bodies.
func traceRequests(config *rest.Config, log logrus.FieldLogger) {
	if !log.WithField("", nil).Logger.IsLevelEnabled(logrus.TraceLevel) {
		return
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &traced{next: next, log: log} })
}

type traced struct {
	next http.RoundTripper
	log  logrus.FieldLogger
}

// RoundTrip is part of http.RoundTripper.
func (t *traced) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := time.Now()
	answer, err := t.next.RoundTrip(r)
	fields := logrus.Fields{"method": r.Method, "path": r.URL.Path, "took": time.Since(begin).String()}
	if err != nil {
		fields["error"] = err.Error()
	} else {
		fields["status"] = answer.StatusCode
	}
	t.log.WithFields(fields).Trace("request")
	return answer, err
}
