package notify

import (
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/bucket"
)

// RunOptions configure the process that sends notifications.
type RunOptions struct {
	Options
	// Evidence keeps the events in files. Without receivers, they are only kept.
	Evidence EvidenceOptions
	// ClientConfig is for the API server. It needs a bearer token, which authenticates the reader to operators.
	ClientConfig clientcmd.ClientConfig
	// Namespace and ControllerName select the operators; ShardSelector selects one of several with the name, all when
	// empty.
	Namespace, ControllerName, ShardSelector string
	// State is the ConfigMap in Namespace with the last positions in the streams; the controller name with
	// "-notifications" when empty.
	State string
	// MetricsAddress serves /metrics and HealthAddress /healthz and /readyz; nothing is served when empty.
	MetricsAddress, HealthAddress string
	// Log receives all log lines.
	Log *logrus.Logger
	// Clock is for the time and for timers; the real one when nil.
	Clock clock.WithTicker
}

// EvidenceOptions are for keeping the events as evidence.
type EvidenceOptions struct {
	// Directory gets the files; no evidence is kept when it is empty. One process may write to it at a time.
	Directory string
	// Cluster is the name of the cluster in each line.
	Cluster string
	// Bucket gets copies of the files; there are none when its URL is empty. The directory and the cluster are those
	// above, and the transport is made for BucketCAFile, a PEM file of authorities to trust beside those of the system.
	Bucket       bucket.Options
	BucketCAFile string
}
