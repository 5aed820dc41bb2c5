package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// mostLookups bounds the different lookups of a process.
const mostLookups = 500

// parentCluster is the cluster for Helm's engine in the rendering process, which has no network: it asks its parent.
// All renders have the same answer to a lookup.
type parentCluster struct {
	from    *json.Decoder
	to      *json.Encoder
	answers map[lookup]lookupReply
}

func newParentCluster(from *json.Decoder, to *json.Encoder) *parentCluster {
	return &parentCluster{from: from, to: to, answers: map[lookup]lookupReply{}}
}

// GetClientFor is part of values.Cluster. The parent knows whether the kind is namespaced.
func (p *parentCluster) GetClientFor(
	apiVersion, kind string,
) (resource dynamic.NamespaceableResourceInterface, namespaced bool, err error) {
	return &parentResource{cluster: p, what: lookup{APIVersion: apiVersion, Kind: kind}}, true, nil
}

// ask returns the answer to a lookup.
func (p *parentCluster) ask(what lookup) (json.RawMessage, error) {
	answer, found := p.answers[what]
	if !found {
		if len(p.answers) >= mostLookups {
			return nil, fmt.Errorf("the templates look up more than %d objects", mostLookups)
		}
		if err := p.to.Encode(reply{Lookup: &what}); err != nil {
			return nil, fmt.Errorf("ask for an object: %w", err)
		}
		if err := p.from.Decode(&answer); err != nil {
			return nil, fmt.Errorf("read an object: %w", err)
		}
		p.answers[what] = answer
	}
	switch {
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	case answer.Missing:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: what.Kind}, what.Name)
	}
	return answer.Content, nil
}

// parentResource is the resource of a kind. Helm's engine calls no other method of the interface.
type parentResource struct {
	dynamic.NamespaceableResourceInterface
	cluster *parentCluster
	what    lookup
}

// Namespace is part of dynamic.NamespaceableResourceInterface.
func (p *parentResource) Namespace(namespace string) dynamic.ResourceInterface {
	narrowed := *p
	narrowed.what.Namespace = namespace
	return &narrowed
}

// Get is part of dynamic.ResourceInterface.
func (p *parentResource) Get(
	_ context.Context, name string, _ metav1.GetOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	what := p.what
	what.Name = name
	content, err := p.cluster.ask(what)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{} // decoded for each call: a template can change it
	if err := object.UnmarshalJSON(content); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", what.Kind, name, err)
	}
	return object, nil
}

// List is part of dynamic.ResourceInterface.
func (p *parentResource) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	content, err := p.cluster.ask(p.what)
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(content); err != nil {
		return nil, fmt.Errorf("decode the list of %s: %w", p.what.Kind, err)
	}
	return list, nil
}
