package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	// maxLookupBytes bounds all answers to lookups together.
	maxLookupBytes = 32 << 20
	// MaxSecrets bounds the answers with Secrets: the output is searched for their values.
	MaxSecrets = 8 << 20
)

// Lookups reads the objects that templates look up, with the rights of the user. It sends GET requests alone.
type Lookups struct {
	client rest.Interface
	kinds  map[schema.GroupVersion][]metav1.APIResource
	// left is the number of bytes that may still be read.
	left int
	// Secrets are the Secrets among the objects, with secretBytes in all.
	Secrets     []map[string]any
	secretBytes int
}

// NewLookups returns lookups by a client.
func NewLookups(client rest.Interface) *Lookups {
	return &Lookups{client: client, kinds: map[schema.GroupVersion][]metav1.APIResource{}, left: maxLookupBytes}
}

// answer returns the answer to a lookup.
func (l *Lookups) answer(ctx context.Context, what lookup) lookupReply {
	content, err := l.read(ctx, what)
	switch {
	case apierrors.IsNotFound(err):
		return lookupReply{Missing: true}
	case err != nil:
		return lookupReply{Error: fmt.Sprintf("look up %s: %v", strings.TrimSpace(what.Kind+" "+what.Name), err)}
	}
	if err := l.keepSecrets(what, content); err != nil {
		return lookupReply{Error: err.Error()}
	}
	return lookupReply{Content: content}
}

// read returns an object or a list. The error is a NotFound one for an object that does not exist.
func (l *Lookups) read(ctx context.Context, what lookup) ([]byte, error) {
	gv, err := schema.ParseGroupVersion(what.APIVersion)
	if err != nil {
		return nil, err
	}
	at := []string{"apis", gv.Group, gv.Version}
	if gv.Group == "" {
		at = []string{"api", gv.Version}
	}
	kinds, known := l.kinds[gv]
	if !known {
		content, err := l.get(ctx, at...)
		if err != nil { // as Helm does, which fails for an API that is not served
			return nil, fmt.Errorf("the API %s: %s", gv, err.Error())
		}
		var served metav1.APIResourceList
		if err := json.Unmarshal(content, &served); err != nil {
			return nil, fmt.Errorf("the API %s: %w", gv, err)
		}
		kinds = served.APIResources
		l.kinds[gv] = kinds
	}
	i := slices.IndexFunc(kinds, func(r metav1.APIResource) bool {
		return r.Kind == what.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: gv.Group, Resource: what.Kind}, what.Name)
	}
	if kinds[i].Namespaced && what.Namespace != "" {
		at = append(at, "namespaces", what.Namespace)
	}
	at = append(at, kinds[i].Name)
	if what.Name != "" {
		at = append(at, what.Name)
	}
	return l.get(ctx, at...)
}

// get sends one GET request.
func (l *Lookups) get(ctx context.Context, segments ...string) (answer []byte, err error) {
	for _, segment := range segments {
		if wrong := content.IsPathSegmentName(segment); segment == "" || len(wrong) > 0 {
			return nil, fmt.Errorf("%q is no name", segment)
		}
	}
	body, err := l.client.Get().AbsPath(segments...).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	bounded := boundedReader{from: body, left: l.left}
	answer, err = io.ReadAll(&bounded)
	l.left -= len(answer)
	if errors.Is(err, errFull) {
		return nil, fmt.Errorf("the templates look up more than %d MiB", maxLookupBytes>>20)
	}
	return answer, err
}

// keepSecrets records the Secrets in an answer.
func (l *Lookups) keepSecrets(what lookup, content []byte) error {
	if what.Kind != "Secret" {
		return nil
	}
	l.secretBytes += len(content)
	if l.HasTooManySecrets() { // the caller refuses to print the output
		return nil
	}
	var one map[string]any
	if err := json.Unmarshal(content, &one); err != nil {
		return fmt.Errorf("decode %s %s: %w", what.Kind, what.Name, err)
	}
	found := []any{one}
	if items, isList := one["items"].([]any); isList && what.Name == "" {
		found = items
	}
	for _, item := range found {
		if secret, ok := item.(map[string]any); ok && secret != nil {
			secret["kind"] = "Secret" // which the items of a list do not have
			l.Secrets = append(l.Secrets, secret)
			l.keepCopies(secret)
		}
	}
	return nil
}

// keepCopies records copies of a Secret in its annotations. They may be older than it.
func (l *Lookups) keepCopies(secret map[string]any) {
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, annotation := range annotations {
		text, _ := annotation.(string)
		var copied map[string]any
		if json.Unmarshal([]byte(text), &copied) == nil && copied != nil {
			copied["kind"] = "Secret"
			l.Secrets = append(l.Secrets, copied)
		}
	}
}

// HasTooManySecrets reports whether Secrets of more than MaxSecrets bytes were looked up. They are not in Secrets.
func (l *Lookups) HasTooManySecrets() bool { return l.secretBytes > MaxSecrets }
