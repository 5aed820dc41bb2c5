package oracle

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	operatorsGroup = "helm-locker-test:operators"
	operatorAgent  = "helm-locker/"
	accountPrefix  = "system:serviceaccount:"
	operatorPrefix = "helm-locker:"
	helmUser       = "helm"
	helmAgent      = "Helm/"
	endKey         = "/registry/~recorded" // the last key of a complete recording
)

// Event is one write to etcd. Value is nil for a deletion.
type Event struct {
	Revision int64 `json:",string"`
	At       time.Time
	Key      string
	Value    object
}

// Request is one event of the audit log.
type Request struct {
	AuditID, Stage, Verb, RequestURI, UserAgent string
	User                                        struct {
		Username string
		Groups   []string
	}
	ImpersonatedUser struct{ Username string }
	Annotations      map[string]string
	ObjectRef        struct{ Resource, Namespace, Name string }
	ResponseStatus   struct {
		Code    int
		Message string
	}
	RequestObject  json.RawMessage
	ResponseObject object
	Received       time.Time `json:"requestReceivedTimestamp"`
	Done           time.Time `json:"stageTimestamp"`
}

// ours reports whether an operator made the request.
func (r *Request) ours() bool {
	return slices.Contains(r.User.Groups, operatorsGroup) ||
		strings.HasPrefix(r.User.Username, accountPrefix) && strings.HasPrefix(r.UserAgent, operatorAgent)
}

func (r *Request) helms() bool {
	return r.User.Username == helmUser || strings.HasPrefix(r.UserAgent, helmAgent)
}

// operator returns the namespace of the requesting operator.
func (r *Request) operator() string {
	user := strings.TrimPrefix(strings.TrimPrefix(r.User.Username, operatorPrefix), accountPrefix)
	return strings.Split(user, ":")[0]
}

// wrote reports whether the request may have stored something.
func (r *Request) wrote() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		r.ResponseStatus.Code/100 == 2 && !strings.Contains(r.RequestURI, "dryRun=")
}

// mutated reports whether a webhook changed the requested object.
func (r *Request) mutated() bool {
	return strings.Contains(fmt.Sprint(r.Annotations), `"mutated":true`)
}

// precondition returns the resourceVersion in the body of a request; empty for none.
func (r *Request) precondition() string {
	body := object{}
	if json.Unmarshal(r.RequestObject, &body) != nil { // a list for a JSON patch
		return ""
	}
	return body.text("metadata", "resourceVersion")
}

func (r *Request) String() string {
	return fmt.Sprintf("%s %s by %s at %s", r.Verb, r.RequestURI, r.User.Username, r.Received.Format("15:04:05.000"))
}

// exception excuses the events of a namespace from a rule. Other notes name the namespace of an operator with
// --impersonate, the times of the start of an API server and of the end of the control plane, and an outage.
type exception struct {
	Rule, Namespace, Reason, Impersonates string
	Started, Stopped, Down, Up            time.Time
}

// recording is the source of the lines; tests have one in memory.
type recording struct {
	requests func(take func(*Request)) error
	events   func(take func(*Event)) error
	notes    []exception
}

// directory returns the recording in a directory.
func directory(dir string) (r recording, err error) {
	r.requests = func(take func(*Request)) error {
		return eachLine(filepath.Join(dir, "audit.log"), func(line []byte) error {
			r := &Request{}
			// Lines truncated by a killed API server cannot be decoded.
			if json.Unmarshal(line, r) == nil {
				take(r)
			}
			return nil
		})
	}
	r.events = func(take func(*Event)) error {
		e := &Event{}
		err := eachLine(filepath.Join(dir, "etcd.jsonl.gz"), func(line []byte) error {
			e = &Event{}
			err := json.Unmarshal(line, e)
			take(e)
			return err
		})
		if err == nil && e.Key != endKey {
			return io.ErrUnexpectedEOF // as after the death of a test
		}
		return err
	}
	err = eachLine(filepath.Join(dir, "notes.jsonl"), func(line []byte) error {
		r.notes = append(r.notes, exception{})
		return json.Unmarshal(line, &r.notes[len(r.notes)-1])
	})
	return r, err
}

// eachLine calls take with each line of a file, compressed or not according to its name.
func eachLine(path string, take func([]byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	from := io.Reader(file)
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			return errors.Join(fmt.Errorf("recording %s: %w", path, err), io.ErrUnexpectedEOF)
		}
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<30)
	for err == nil && lines.Scan() {
		err = take(lines.Bytes())
	}
	if err = errors.Join(err, lines.Err()); err != nil {
		err = fmt.Errorf("recording %s: %w", path, err)
	}
	return err
}

// add takes in one request.
func (j *judge) add(r *Request) {
	if r.ours() {
		j.live(r)
	}
	o := r.ResponseObject
	if r.Stage != "ResponseComplete" || !r.wrote() || o == nil || !r.ours() && !r.helms() {
		return
	}
	if r.Verb == "delete" {
		j.deletions[cmp.Or(o.text("details", "uid"), o.text("metadata", "uid"))] = r
	}
	version := o.text("metadata", "resourceVersion")
	revision, err := strconv.ParseInt(version, 10, 64)
	if other := j.writes[revision]; err == nil && r.precondition() != version && (other == nil || !other.ours()) {
		j.writes[revision] = r
	}
}

// live takes in one request of an operator's.
func (j *judge) live(r *Request) {
	who := r.operator()
	if r.Done.After(j.alive[who]) {
		j.alive[who] = r.Done
	}
	if r.Verb == "watch" {
		j.open[r.AuditID] = r
		if r.Stage == "ResponseComplete" {
			delete(j.open, r.AuditID)
		}
	}
	if code := r.ResponseStatus.Code; r.ObjectRef.Resource == "secrets" && (code/100 == 2 || code == 429) &&
		(r.Verb == "get" || r.Verb == "list" || r.wrote() && !strings.Contains(r.ObjectRef.Name, "-settled-")) {
		j.reads[who] = append(j.reads[who], r)
	}
}

// survive extends the lives of operators with open watches to the stop of the control plane, except that the start of
// an API server ends the watches of the previous one.
func (j *judge) survive(started, stopped time.Time) {
	for id, r := range j.open {
		if r.Received.Before(started) {
			delete(j.open, id)
		} else if stopped.After(j.alive[r.operator()]) {
			j.alive[r.operator()] = stopped
		}
	}
}

// author returns the request that stored an event; nil for somebody's. An answer names the revision of another write
// when its request changed nothing: that other write is older than the request.
func (j *judge) author(e *Event) *Request {
	if r := j.writes[e.Revision]; r != nil && !e.At.Before(r.Received) {
		return r
	}
	return nil
}
