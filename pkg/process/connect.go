package process

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/rancher/helm-locker/pkg/version"
)

const (
	// requestTimeout bounds every request except watches.
	requestTimeout = 30 * time.Second
	// leaseTimeout bounds a request about the lease, so that a leader can repeat it before its lease expires.
	leaseTimeout = 3 * time.Second
)

// Connect returns the configuration of all clients of a process; their requests pass through count. The clients are
// client-go's, and share the connections of one transport. client-go pings a silent HTTP/2 connection, and closes it
// without an answer; HTTP2_READ_IDLE_TIMEOUT_SECONDS and HTTP2_PING_TIMEOUT_SECONDS in the environment set the times.
// There is no client-side rate limit: the API server's priority and fairness limits requests, and a wait in the client
// helps no user.
func Connect(
	from clientcmd.ClientConfig, count transport.WrapperFunc, log logrus.FieldLogger,
) (*rest.Config, error) {
	config, err := from.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("client configuration: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(count)
	config.QPS, config.RateLimiter = -1, nil
	config.UserAgent = "helm-locker/" + version.Version
	traceRequests(config, log)
	return config, nil
}

// Requests returns the configuration of clients without watches.
func Requests(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	return config
}

// Typed returns the configuration of clients of built-in kinds, with protobuf as the encoding.
func Typed(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// Leases returns the client for leases of this duration.
func Leases(config *rest.Config, duration time.Duration) (coordinationv1.CoordinationV1Interface, error) {
	config = Typed(config)
	config.Timeout = min(leaseTimeout, renewDeadline(duration)/2)
	return coordinationv1.NewForConfig(config)
}
