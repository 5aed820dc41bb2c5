package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listReader reads a list token by token.
type listReader struct {
	dec  *json.Decoder
	kind metav1.TypeMeta
	list metav1.ListMeta
	each func(*Live) error
}

func readList(text io.Reader, each func(*Live) error) (metav1.ListMeta, error) {
	r := listReader{dec: json.NewDecoder(text), each: each}
	if err := r.expect(json.Delim('{')); err != nil {
		return metav1.ListMeta{}, err
	}
	for r.dec.More() {
		if err := r.member(); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return r.list, r.expect(json.Delim('}'))
}

func (r *listReader) expect(want json.Delim) error {
	token, err := r.dec.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%s is expected", want)
	}
	return err
}

func (r *listReader) member() error {
	name, err := r.dec.Token()
	if err != nil {
		return err
	}
	switch name {
	case "kind":
		return r.dec.Decode(&r.kind.Kind)
	case "apiVersion":
		return r.dec.Decode(&r.kind.APIVersion)
	case "metadata":
		return r.dec.Decode(&r.list)
	case "items":
		return r.items()
	}
	var other json.RawMessage
	return r.dec.Decode(&other)
}

// items reads the objects. Those in the lists of built-in kinds do not name their kind; the list does before them.
func (r *listReader) items() error {
	kind := metav1.TypeMeta{APIVersion: r.kind.APIVersion, Kind: strings.TrimSuffix(r.kind.Kind, "List")}
	token, err := r.dec.Token()
	if err != nil || token == nil {
		return err // an empty list may be null
	}
	if token != json.Delim('[') {
		return errors.New("the items of a list are no array")
	}
	for r.dec.More() {
		var text json.RawMessage
		if err := r.dec.Decode(&text); err != nil {
			return err
		}
		item, err := newLive(text, kind)
		if err != nil {
			return err
		}
		if err := r.each(item); err != nil {
			return err
		}
	}
	return r.expect(json.Delim(']'))
}
