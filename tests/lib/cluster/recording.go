package cluster

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// recordingsVariable is the directory of the control planes' recordings for tests/cmd/oracle. Without it nothing
	// is recorded.
	recordingsVariable = "HELM_LOCKER_RECORDINGS"
	// endKey is stored last: a recording that contains it is complete.
	endKey = "/registry/~recorded"
	// endTimeout is how long the end of a recording may take to arrive.
	endTimeout = time.Minute
)

// recordingPolicy records the answers to the writes of the operators and of Helm: the oracle joins them to the stored
// revisions, and only the answers contain those. It omits the answers to writes of release records: they are large,
// and the oracle does not need their revisions.
const recordingPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
omitStages: [RequestReceived]
rules:
- {level: None, users: ["system:apiserver"]}
- {level: None, userGroups: ["system:serviceaccounts:kube-system", "system:nodes"], verbs: [get, list, watch]}
- {level: None, users: ["system:kube-controller-manager"], verbs: [get, list, watch]}
- {level: %s, resources: [{group: "", resources: [events]}, {group: events.k8s.io}, {group: coordination.k8s.io}]}
- {level: Metadata, userGroups: ["system:serviceaccounts:kube-system"]}
- level: RequestResponse
  userGroups: ["` + OperatorsGroup + `", "system:serviceaccounts"]
  verbs: [create, update, patch, delete, deletecollection]
- {level: Metadata, users: ["` + HelmUser + `"], resources: [{group: "", resources: [secrets]}]}
- level: RequestResponse
  users: ["` + HelmUser + `"]
  verbs: [create, update, patch, delete, deletecollection]
- {level: Metadata, userGroups: ["` + OperatorsGroup + `", "system:serviceaccounts"]}
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: %s}
`

// recording is the audit log of one control plane and every write to its etcd, in etcd's order.
type recording struct {
	dir    string
	etcd   etcdGateway
	cancel context.CancelFunc
	ended  chan struct{} // closed when the watch has ended; err is set before
	err    error

	mu    sync.Mutex // guards the file of notes
	notes *os.File
}

// newRecording returns the recording for a control plane, or nil when none is requested.
func newRecording() (*recording, error) {
	base := os.Getenv(recordingsVariable)
	if base == "" {
		return nil, nil //nolint:nilnil // no recording is not an error
	}
	dir, err := os.MkdirTemp(base, strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")+"-")
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &recording{dir: dir}
	// The API servers append to existing files; in files of their own making they would overwrite each other's lines.
	for _, name := range []string{"audit.log", "notes.jsonl"} {
		if err := writeFile(dir, name, nil); err != nil {
			return nil, err
		}
	}
	r.notes, err = os.OpenFile(filepath.Join(dir, "notes.jsonl"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	return r, nil
}

// Except exempts the objects of a namespace from a rule of the oracle, for a test that breaks a promise on purpose.
// The oracle prints the reason.
func (c *Cluster) Except(rule, namespace, reason string) error {
	return c.recording.note(map[string]any{"rule": rule, "namespace": namespace, "reason": reason})
}

// Impersonates declares that the operator of a namespace runs with --impersonate: the oracle then allows it no write
// to a release's objects with its own rights.
func (c *Cluster) Impersonates(namespace string) error {
	return c.recording.note(map[string]any{"impersonates": namespace})
}

// note writes a line of notes; a nil recording does nothing.
func (r *recording) note(what map[string]any) error {
	if r == nil {
		return nil
	}
	line, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.notes.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}

// start records from etcd's first revision on.
func (r *recording) start(client *http.Client, url string) error {
	ctx, cancel := context.WithCancel(context.Background())
	r.etcd, r.cancel, r.ended = etcdGateway{client, url}, cancel, make(chan struct{})
	body := map[string]any{"create_request": map[string]any{
		"key": []byte("/registry/"), "range_end": []byte("/registry0"), "start_revision": "1"}}
	response, err := r.etcd.post(ctx, "/v3/watch", body) //nolint:bodyclose // closed by the goroutine that reads it
	if err != nil {
		cancel()
		return err
	}
	file, err := os.Create(filepath.Join(r.dir, "etcd.jsonl.gz"))
	if err != nil {
		cancel()
		return errors.Join(fmt.Errorf("recording: %w", err), response.Body.Close())
	}
	go func() {
		defer close(r.ended)
		r.err = errors.Join(writeEvents(file, response.Body), file.Close(), response.Body.Close())
	}()
	return nil
}

// stop returns when all writes to etcd are recorded.
func (r *recording) stop() error {
	if r.ended == nil {
		return r.notes.Close()
	}
	defer r.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	response, err := r.etcd.post(ctx, "/v3/kv/put", map[string]any{"key": []byte(endKey), "value": []byte("{}")})
	if err != nil {
		return fmt.Errorf("end the recording: %w", err)
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		r.cancel()
		<-r.ended
	}
	r.etcd.client.CloseIdleConnections()
	return errors.Join(r.err, response.Body.Close(), r.notes.Close())
}

// event is one write to etcd, as etcd's JSON gateway prints it.
type event struct {
	Type string `json:"type"`
	KV   struct {
		Key      []byte `json:"key"`
		Revision string `json:"mod_revision"`
		Value    []byte `json:"value"`
	} `json:"kv"`
}

// writeEvents writes the events of a watch of etcd, one a line, until the end of the recording. Leases and events are
// left out.
func writeEvents(to io.Writer, from io.Reader) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	lines := json.NewDecoder(bufio.NewReaderSize(from, 1<<20))
	for done := false; !done; {
		var message struct {
			Result struct {
				Events []event `json:"events"`
			} `json:"result"`
		}
		if err := lines.Decode(&message); err != nil {
			return errors.Join(fmt.Errorf("the recording has no end: %w", err), packed.Close())
		}
		for _, e := range message.Result.Events {
			done = done || string(e.KV.Key) == endKey
			if err := e.write(packed); err != nil {
				return errors.Join(err, packed.Close())
			}
		}
	}
	return packed.Close()
}

func (e event) write(to io.Writer) error {
	key := string(e.KV.Key)
	for _, prefix := range []string{"/registry/events/", "/registry/leases/", "/registry/masterleases/"} {
		if strings.HasPrefix(key, prefix) {
			return nil
		}
	}
	line := struct {
		Revision string          `json:"revision"`
		At       time.Time       `json:"at"`
		Key      string          `json:"key"`
		Value    json.RawMessage `json:"value,omitempty"`
	}{e.KV.Revision, time.Now(), key, nil}
	if e.Type != "DELETE" {
		if !json.Valid(e.KV.Value) {
			return nil // of an API server that was told to store something else than JSON
		}
		line.Value = e.KV.Value
	}
	if err := json.NewEncoder(to).Encode(line); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}
