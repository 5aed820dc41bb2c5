package notify

import (
	"time"

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

// end ends the open file if it is that old and there is a bucket.
func (s *sink) end(age time.Duration) {
	if s.ended == nil {
		return
	}
	ended, err := s.log.End(age)
	if err != nil {
		s.to.Errorf("evidence goes on in the same file: %v", err)
	}
	s.note(ended)
}

// note logs the digest at which a file ended, and has the file copied.
func (s *sink) note(ended string) {
	if ended == "" {
		return
	}
	// A copy of the digest that is kept elsewhere proves the file.
	s.to.WithField("digest", ended).Info("a file of evidence has ended")
	if s.ended != nil {
		s.ended()
	}
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
