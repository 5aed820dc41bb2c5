package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// agentHelm is how the user agent of Helm 3 and 4 begins.
const agentHelm = "Helm/"

// journal is the audit log of the control plane: every write to an object or a record of a release, by any author.
type journal struct{ path string }

// withJournal returns the options of a control plane with a journal.
func withJournal(log io.Writer) cluster.Options {
	var writes []string
	for _, gvr := range resources() {
		writes = append(writes, fmt.Sprintf("  - {group: %q, resources: [%s]}", gvr.Group, gvr.Resource))
	}
	return cluster.Options{AuditLog: true, Log: log, AuditRules: "- level: RequestResponse\n" +
		"  verbs: [create, update, patch, delete, deletecollection]\n  resources:\n" + strings.Join(writes, "\n") + "\n"}
}

// entry is an executed request.
type entry struct {
	Verb, UserAgent, RequestURI string
	RequestReceivedTimestamp    time.Time
	ObjectRef                   struct{ Resource, Namespace, Name string }
	ResponseStatus              struct{ Code int }
	// ResponseObject is the object as it then was; of a deletion it is a Status or the object as it last was.
	ResponseObject unstructured.Unstructured
}

// read returns the writes to an object and to the records of its release, in the order of the answers.
func (j journal) read(key objectKey) (all []entry, err error) {
	err = cluster.ReadAudit(j.path, 0, func(line []byte) error {
		var e struct {
			entry
			ResponseObject map[string]any
		}
		// A line truncated by a killed API server, and its successor's continuation of that line, cannot be decoded.
		if json.Unmarshal(line, &e) != nil {
			return nil //nolint:nilerr // see above: such a line is left out
		}
		e.entry.ResponseObject.Object = e.ResponseObject
		// A recording has more than the writes.
		if e.ResponseObject != nil && e.happened() && (e.is(key) || e.isRecord(key.namespace)) {
			all = append(all, e.entry)
		}
		return nil
	})
	return all, err
}

// happened reports whether the request changed something.
func (e entry) happened() bool {
	uri, err := url.Parse(e.RequestURI)
	return err == nil && uri.Query().Get("dryRun") == "" && e.ResponseStatus.Code >= 200 && e.ResponseStatus.Code < 300
}

func (e entry) created() bool { return e.ResponseStatus.Code == 201 }

func (e entry) name() string {
	if e.ObjectRef.Name != "" {
		return e.ObjectRef.Name
	}
	return e.ResponseObject.GetName() // of what is created the URL has none
}

func (e entry) uid() types.UID {
	if uid := e.ResponseObject.GetUID(); uid != "" {
		return uid
	}
	uid, _, err := unstructured.NestedString(e.ResponseObject.Object, "details", "uid")
	if err != nil {
		return ""
	}
	return types.UID(uid)
}

// is reports whether the request was about an object.
func (e entry) is(key objectKey) bool {
	return e.ObjectRef.Resource == key.resource.Resource && e.ObjectRef.Namespace == key.namespace &&
		e.name() == key.name
}

// isRecord reports whether the request was about a record in a namespace.
func (e entry) isRecord(namespace string) bool {
	return e.ObjectRef.Resource == "secrets" && e.ObjectRef.Namespace == namespace &&
		strings.HasPrefix(e.name(), "sh.helm.release.")
}

// revision returns the content of a record; nil when the answer has none, such as that to a deletion.
func (e entry) revision() *release.Release {
	content, _, err := unstructured.NestedString(e.ResponseObject.Object, "data", release.DataKey)
	if err != nil || content == "" {
		return nil
	}
	payload, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil
	}
	revision, err := release.Decode(payload, release.DefaultLimit, nil)
	if err != nil {
		return nil
	}
	return revision
}

// declares reports whether a manifest declares an object.
func declares(manifest string, key objectKey) bool {
	objects, err := objectsOf(manifest, key.namespace)
	return err == nil && slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool {
		return resourceOf(u) == key.resource && u.GetName() == key.name
	})
}

// creator returns the user that created the object with a uid; empty when unknown.
func creator(entries []entry, key objectKey, uid types.UID) string {
	for _, e := range entries {
		if e.is(key) && e.created() && e.uid() == uid {
			return e.UserAgent
		}
	}
	return ""
}

// asHelmLeft returns the object with a uid after Helm's last write to it; nil when unknown.
func asHelmLeft(entries []entry, key objectKey, uid types.UID) map[string]any {
	for _, e := range slices.Backward(entries) {
		if e.is(key) && e.uid() == uid && strings.HasPrefix(e.UserAgent, agentHelm) && e.Verb != "delete" {
			return e.ResponseObject.Object
		}
	}
	return nil
}

// leftByHelm returns nil when Helm left an undeclared object behind, so that it must stay, or else the reason against
// that. Helm leaves behind objects created by a failed revision if the next one, which Helm compares with the last
// deployed one, does not declare them; and objects not declared by the newest revision when it uninstalls. As long as
// a record of a revision declares the object, the operator has to delete it; later it must not. records are the
// existing ones.
func leftByHelm(creator string, records map[string]*release.Release, key objectKey) error {
	if !strings.HasPrefix(creator, agentHelm) {
		return fmt.Errorf("it was created by %q", creator)
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		if declares(records[name].Manifest, key) {
			return fmt.Errorf("%s, which exists, declares it, so that the operator should have deleted it", name)
		}
	}
	return nil
}

// storyLines bounds the printed history; the end is the important part.
const storyLines = 60

// story prints the writes to an object, and to the records of its release.
func story(entries []entry, key objectKey) string {
	var lines []string
	for _, e := range entries {
		what := e.name()
		if e.is(key) {
			what = fmt.Sprintf("the object, uid %.8s version %s %s", e.uid(), e.ResponseObject.GetResourceVersion(),
				e.ResponseObject.GetAnnotations()[markKey])
		} else if revision := e.revision(); revision != nil {
			what += ", " + string(revision.Status)
			if declares(revision.Manifest, key) {
				what += ", which declares the object"
			}
		}
		agent, _, _ := strings.Cut(e.UserAgent, " ")
		lines = append(lines, fmt.Sprintf("%s %s %s %d: %s", e.RequestReceivedTimestamp.Format("15:04:05.000"), agent,
			e.Verb, e.ResponseStatus.Code, what))
	}
	return strings.Join(lines[max(0, len(lines)-storyLines):], "\n    ")
}
