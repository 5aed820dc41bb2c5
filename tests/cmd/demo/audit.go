package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// audit reads the API server's audit log. When a client has its answer, the request is in the log.
type audit struct {
	path string
	// operator is the operator's user, person the tampering one.
	operator, person string
}

// event is the relevant part of a line of the log.
type event struct {
	Verb, RequestURI string
	StageTimestamp   time.Time // of the answer
	User             struct{ Username string }
	ObjectRef        struct{ Resource, Namespace, Name string }
}

// writes returns the operator's writes to objects in a namespace so far, as "patch configmaps/shop".
func (a audit) writes(namespace string) ([]string, error) {
	events, err := a.read(a.operator, namespace)
	if err != nil {
		return nil, err
	}
	var writes []string
	for _, e := range events {
		writes = append(writes, e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Name)
	}
	return writes, nil
}

// tampered returns the time of the API server's answer to the person's last write to an object of that name.
func (a audit) tampered(namespace, name string) (time.Time, error) {
	events, err := a.read(a.person, namespace)
	if err != nil {
		return time.Time{}, err
	}
	for _, e := range slices.Backward(events) {
		if e.ObjectRef.Name == name {
			return e.StageTimestamp, nil
		}
	}
	return time.Time{}, fmt.Errorf("the audit log has no write to %s/%s", namespace, name)
}

// read returns all writes of a user to objects in a namespace, so far. Events about objects are no writes to them,
// and a dry run writes nothing.
func (a audit) read(user, namespace string) (events []event, err error) {
	err = cluster.ReadAudit(a.path, 0, func(line []byte) error {
		if !bytes.Contains(line, []byte(user)) {
			return nil
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if e.User.Username == user && e.ObjectRef.Namespace == namespace && e.ObjectRef.Resource != "events" &&
			slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) &&
			!strings.Contains(e.RequestURI, "dryRun=") {
			events = append(events, e)
		}
		return nil
	})
	return events, err
}
