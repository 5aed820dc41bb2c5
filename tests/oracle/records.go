package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	recordPrefix = "sh.helm.release.v1."
	recordLimit  = 64 << 20 // bounds what a record may unpack to
)

// releaseKey is where the records of a release are stored.
type releaseKey struct{ namespace, name string }

func (k releaseKey) String() string { return k.namespace + "/" + k.name }

// record is one revision of a release, as Helm stored it.
type record struct {
	key     releaseKey
	version int
	status  string
	stored  int64  // etcd's revision
	as      string // the namespace that the release itself names, which its objects say
	ssa     bool
	before  bool     // a hook before Helm's work on objects has not succeeded
	objects []object // none if they cannot be read
}

// newRecord returns the release record in an object of the API; nil when it is none.
func newRecord(o object) *record {
	isSecret, of := o.text("type") == "helm.sh/release.v1", o.text("metadata", "namespace")
	label := func(name string) string { return o.text("metadata", "labels", name) }
	version, err := strconv.Atoi(label("version"))
	r := &record{key: releaseKey{of, label("name")}, status: label("status"), version: version}
	if err != nil || !isSecret && o.text("kind") != "ConfigMap" || label("owner") != "helm" ||
		o.text("metadata", "name") != fmt.Sprintf("%s%s.v%d", recordPrefix, r.key.name, version) {
		return nil
	}
	payload := []byte(o.text("data", "release"))
	if isSecret {
		payload, err = base64.StdEncoding.AppendDecode(nil, payload)
	}
	if err != nil || r.decode(payload) != nil {
		r.objects = nil
	}
	return r
}

func (r *record) decode(payload []byte) error {
	helm := object{}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(payload)))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(reader, recordLimit)).Decode(&helm)
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.as, r.ssa = helm.text("namespace"), helm.text("apply_method") == "ssa"
	for _, item := range helm.items("hooks") {
		hook := object(as[map[string]any](item))
		for _, event := range hook.items("events") {
			work, before := strings.CutPrefix(fmt.Sprint(event), "pre-")
			phase := hook.text("last_run", "phase")
			r.before = r.before || before && phase != "Succeeded" && (phase != "" || r.status == "pending-"+work)
		}
	}
	r.objects, err = parse(helm.text("manifest"), r.as, helm.text("name"))
	return err
}

// parse returns the objects of a manifest with Helm's metadata. Objects without a namespace get none: only the API
// server knows which kinds have one.
func parse(manifest, namespace, name string) (all []object, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		o := object{}
		if err == nil {
			err = yaml.Unmarshal(document, &o)
		}
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		items := []any{map[string]any(o)}
		if strings.HasSuffix(o.text("kind"), "List") && o["items"] != nil {
			items = o.items("items")
		}
		for _, item := range items {
			o := object(as[map[string]any](item))
			if metadata := o.fields("metadata"); metadata != nil {
				for where, what := range map[string]map[string]any{"labels": {"app.kubernetes.io/managed-by": "Helm"},
					"annotations": {releaseName: name, releaseNamespace: namespace}} {
					merged := maps.Clone(what)
					maps.Copy(merged, o.fields("metadata", where))
					maps.Copy(merged, what)
					metadata[where] = merged
				}
				all = append(all, o)
			}
		}
	}
}

// declares returns the manifest's object with the identity of a live one; nil for none.
func (r *record) declares(id identity) object {
	for _, o := range r.objects {
		if d := o.identity(); d.nameless() == id.nameless() && matches(d.namespace, r.as, id.namespace) {
			return o
		}
	}
	return nil
}

// claims reports whether an object's annotations name the release.
func (r *record) claims(o object) bool {
	return r.key.name == o.annotation(releaseName) && r.as == o.annotation(releaseNamespace)
}

func (r *record) String() string {
	return fmt.Sprintf("%s revision %d %s", r.key, r.version, r.status)
}

// moment is the state of a release's records from a revision of etcd on.
type moment struct {
	from   int64
	at     time.Time
	newest *record // nil when there is none
	all    []*record
}

// releases holds the records of all releases at all times.
type releases struct {
	now     map[string]*record // by key in etcd
	moments map[releaseKey][]moment
	// declared has all declarations ever made of an object of that group, kind and name, with their namespaces.
	declared map[identity][]declaration
}

// declaration is a release's declaration of an object in a namespace, which may be empty.
type declaration struct {
	key           releaseKey
	namespace, as string
}

// nameless leaves the namespace out, which a manifest may omit.
func (i identity) nameless() identity { return identity{i.group, i.kind, "", i.name} }

// of returns the releases whose records ever declared an object.
func (s *releases) of(id identity) (keys []releaseKey) {
	for _, d := range s.declared[id.nameless()] {
		if matches(d.namespace, d.as, id.namespace) && !slices.Contains(keys, d.key) {
			keys = append(keys, d.key)
		}
	}
	return keys
}

// matches reports whether a live namespace is the declared one: without one, the release's, or none by its kind.
func matches(declared, as, live string) bool {
	return declared == live || live == "" || declared == "" && live == as
}

// see takes in an event.
func (s *releases) see(e *Event) {
	old, r := s.now[e.Key], newRecord(e.Value)
	changed := cmp.Or(r, old)
	if changed == nil {
		return
	}
	delete(s.now, e.Key)
	if r != nil {
		r.stored = e.Revision
		s.now[e.Key] = r
		for _, o := range r.objects {
			id := o.identity()
			d, all := declaration{r.key, id.namespace, r.as}, s.declared[id.nameless()]
			if !slices.Contains(all, d) {
				s.declared[id.nameless()] = append(all, d)
			}
		}
	}
	m, key := moment{from: e.Revision, at: e.At}, changed.key
	for _, r := range s.now {
		if r.key != key {
			continue
		}
		m.all = append(m.all, r)
		if n := m.newest; n == nil || r.version > n.version || r.version == n.version && r.stored > n.stored {
			m.newest = r
		}
	}
	s.moments[key] = append(s.moments[key], m)
}

// within returns the states of a release between two revisions of etcd: the one at the first, and all later ones.
func (s *releases) within(key releaseKey, from, to int64) (found []moment) {
	for _, m := range s.moments[key] {
		if m.from > to {
			break
		}
		if m.from <= from {
			found = found[:0]
		}
		found = append(found, m)
	}
	return found
}
