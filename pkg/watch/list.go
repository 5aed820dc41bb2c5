package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List hands each object of a resource to each as the answer of the API server comes, so that only one object is in
// memory at a time, whatever the size of a page. It returns the metadata of the list. A Live is valid until each
// returns; the list ends with the first error of each. An empty namespace stands for all.
func (c *Client) List(
	ctx context.Context, gvr schema.GroupVersionResource, namespace string, o metav1.ListOptions,
	each func(*Live) error,
) (metav1.ListMeta, error) {
	body, err := c.get(gvr, namespace, &o).Stream(ctx)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	list, err := readList(body, each)
	if closed := body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("read a list of %s: %w", gvr.Resource, err)
	}
	return list, nil
}

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

// items reads the objects. Those in the lists of built-in kinds do not say what kind they are of, and the list does
// before them.
func (r *listReader) items() error {
	kind, err := json.Marshal(metav1.TypeMeta{APIVersion: r.kind.APIVersion,
		Kind: strings.TrimSuffix(r.kind.Kind, "List")})
	if err != nil {
		return err
	}
	token, err := r.dec.Token()
	if err != nil || token == nil {
		return err // an empty list may be null
	}
	if token != json.Delim('[') {
		return fmt.Errorf("the items of a list are no array")
	}
	for r.dec.More() {
		var text json.RawMessage
		if err := r.dec.Decode(&text); err != nil {
			return err
		}
		item := &Live{text: withKind(text, kind)}
		if err := item.read(); err != nil {
			return err
		}
		if err := r.each(item); err != nil {
			return err
		}
	}
	return r.expect(json.Delim(']'))
}

// LiveList is what the Reflector of client-go takes for a list. Its items are names only: their objects were
// delivered already.
type LiveList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject makes a copy.
func (l *LiveList) DeepCopyObject() runtime.Object {
	c := &LiveList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for _, item := range l.Items {
		c.Items = append(c.Items, item.DeepCopyObject())
	}
	return c
}
