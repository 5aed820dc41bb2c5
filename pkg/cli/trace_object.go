package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
)

// mostOwners bounds the owners of an object. References can form a circle.
const mostOwners = 8

// link is an object, or one of its owners.
type link struct {
	id      manifest.ID
	mapping *meta.RESTMapping
	// live is nil for an object that does not exist, or that could not be read because of err.
	live *metav1.PartialObjectMetadata
	err  error
}

// tracedArguments returns the object of a command line, KIND/NAME or KIND NAME.
func tracedArguments(a *action) (kind, name string, err error) {
	args := a.cmd.Args().Slice()
	if len(args) == 1 {
		if kind, name, found := strings.Cut(args[0], "/"); found {
			args = []string{kind, name}
		}
	}
	switch {
	case len(args) == 0:
		err = errors.New("the object is missing")
	case len(args) == 1:
		err = fmt.Errorf("%q is no object: write KIND/NAME, such as deployment/web", args[0])
	case len(args) > 2:
		err = fmt.Errorf("unexpected argument %q", args[2])
	case args[0] == "" || args[1] == "" || len(content.IsPathSegmentName(args[1])) > 0:
		err = fmt.Errorf("%q is no object: write KIND/NAME, and its namespace with -n", strings.Join(args, "/"))
	default:
		return args[0], args[1], nil
	}
	return "", "", a.misused(err)
}

// find reads the object and its owners.
func (t *tracer) find(ctx context.Context, kind, name string) error {
	if len(validation.IsDNS1123Label(t.namespace)) > 0 {
		return fmt.Errorf("%q is no name of a namespace", t.namespace)
	}
	cached := memory.NewMemCacheClient(t.Discovery)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	mapping, err := mappingOf(mapper, kind)
	if meta.IsNoMatchError(err) {
		err = fmt.Errorf("the cluster serves no kind %q", kind)
		if near := inspect.Nearest(strings.ToLower(kind), slices.Values(kindsOf(cached))); near != "" {
			return command.Hinted(err, "did you mean "+near+"?")
		}
		return command.Hinted(err, "kubectl api-resources lists all kinds")
	}
	if err != nil {
		return fmt.Errorf("find kind %q: %w", kind, err)
	}
	at := t.read(ctx, mapping, t.namespace, name)
	t.out.Object = tracedObject{Object: report.ObjectOf(at.id), Exists: answerYes}
	switch {
	case at.err != nil:
		t.out.Object.Exists, t.out.Object.Reason = answerUnknown, at.err.Error()
	case at.live == nil:
		t.out.Object.Exists = answerNo
	}
	t.links = []link{at}
	for range mostOwners {
		if at = t.ownerOf(ctx, mapper, at); at.mapping == nil {
			break
		}
		t.links = append(t.links, at)
		t.out.Owners = append(t.out.Owners, report.ObjectOf(at.id))
	}
	return nil
}

// mappingOf returns how the API server serves a kind as kubectl takes it: a resource, in the singular or the plural,
// its short name, or a kind, with a group or a version and a group if need be.
func mappingOf(mapper meta.RESTMapper, text string) (*meta.RESTMapping, error) {
	var kinds []schema.GroupVersionKind
	versioned, resource := schema.ParseResourceArg(text)
	for _, r := range []*schema.GroupVersionResource{versioned, new(resource.WithVersion(""))} {
		if r == nil {
			continue
		}
		kind, err := mapper.KindFor(*r)
		if err == nil {
			kinds = append(kinds, kind)
		} else if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	exact, kind := schema.ParseKindArg(text)
	if exact != nil {
		kinds = append(kinds, *exact)
	}
	for _, kind := range kinds {
		if mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
			return mapping, nil
		}
	}
	return mapper.RESTMapping(kind)
}

// kindsOf returns the names of all kinds that are served, as far as they can be read: it completes an error message and
// what a user types.
func kindsOf(client discovery.DiscoveryInterface) []string {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return nil
	}
	var names []string
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "get") {
				names = append(names, strings.ToLower(r.Kind))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// read reads the metadata of an object.
func (t *tracer) read(ctx context.Context, mapping *meta.RESTMapping, namespace, name string) link {
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	}
	kind := mapping.GroupVersionKind
	l := link{id: manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}, mapping: mapping}
	live, err := metadataOf(t.connection, mapping, namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		l.err = fmt.Errorf("get %s: %w", l.id, err)
	default:
		l.live = live
	}
	return l
}

func metadataOf(c *connection, mapping *meta.RESTMapping, namespace string) metadata.ResourceInterface {
	client := c.Metadata().Resource(mapping.Resource)
	if namespace == "" {
		return client
	}
	return client.Namespace(namespace)
}

// ownerOf returns the controller of an object; the zero link without one, or without the object.
func (t *tracer) ownerOf(ctx context.Context, mapper meta.RESTMapper, of link) link {
	if of.live == nil {
		return link{}
	}
	ref := metav1.GetControllerOf(of.live)
	if ref == nil {
		return link{}
	}
	unknown := func(err error) link {
		t.out.OwnersUnknown = fmt.Sprintf("%s %s: %v", ref.Kind, ref.Name, err)
		return link{}
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err == nil && len(content.IsPathSegmentName(ref.Name)) > 0 {
		err = errors.New("it is no name of an object")
	}
	if err != nil {
		return unknown(err)
	}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: ref.Kind}, version.Version)
	if err != nil {
		return unknown(err)
	}
	namespace := of.id.Namespace
	owner := t.read(ctx, mapping, namespace, ref.Name)
	switch {
	case owner.err != nil:
		return unknown(owner.err)
	case owner.live != nil && owner.live.UID != ref.UID:
		return unknown(errors.New("it was deleted, and is another object now"))
	}
	return owner
}

// nearest returns the object of the kind with the most similar name; empty for none, or where they may not be listed.
func (t *tracer) nearest(ctx context.Context) string {
	first := t.links[0]
	list, err := metadataOf(t.connection, first.mapping, first.id.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	near := inspect.Nearest(first.id.Name, slices.Values(names))
	if near == "" {
		return ""
	}
	return strings.ToLower(first.id.Kind) + "/" + near
}

// tracedNames returns the kinds for the first argument of trace, and the objects of the kind for the second one.
func tracedNames(ctx context.Context, a *action, c *connection) ([]string, error) {
	cached := memory.NewMemCacheClient(c.Discovery)
	if a.cmd.Args().Len() == 0 {
		return kindsOf(cached), nil
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	mapping, err := mappingOf(mapper, a.cmd.Args().First())
	if err != nil {
		return nil, err
	}
	namespace := c.namespace
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	}
	list, err := metadataOf(c, mapping, namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

// tracer traces one object.
type tracer struct {
	*action
	*connection
	// links are the object and its owners.
	links []link
	// unread is the first error that kept a record from being read.
	unread error
	// unreadLocks is the error that kept the HelmReleases from being read.
	unreadLocks error
	out         traced
}
