package notify

import (
	"github.com/rancher/helm-locker/pkg/bucket"
)

// copier returns what copies the files to the bucket of the options, nil without one.
func (o *RunOptions) copier(observer bucket.Observer) (*bucket.Copier, error) {
	to := o.Evidence.Bucket
	if to.URL == "" {
		return nil, nil
	}
	transport, err := transport("bucket", o.Evidence.BucketCAFile)
	if err != nil {
		return nil, err
	}
	to.Directory, to.Cluster, to.Transport = o.Evidence.Directory, o.Evidence.Cluster, transport
	return bucket.New(to, o.Clock, o.Log, observer)
}

// EvidenceCopied counts an attempt to copy evidence.
func (c *counters) EvidenceCopied(success bool) {
	result := copyFailed
	if success {
		result = copySucceeded
	}
	c.copies.WithLabelValues(result).Inc()
}

// EvidenceWaiting sets the number of files that wait to be copied.
func (c *counters) EvidenceWaiting(files int) { c.files.Set(float64(files)) }
