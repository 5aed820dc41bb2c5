package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// question is a way to ask what records a release has.
type question struct {
	name string
	gap  time.Duration // before the write that it follows
	// ask asks; version is that of the write.
	ask func(ctx context.Context, version string) error
}

// questions measures what it costs to ask for the records of a release right after something was written, against
// what a write costs. It says how near to the floor whoever asks before a write can come. The operator takes no
// part.
func (b *bench) questions(ctx context.Context) error {
	a, err := b.newAsker(ctx)
	if err != nil {
		return err
	}
	all := append([]question{{"a write", alone, func(ctx context.Context, _ string) error {
		_,
			err := a.write(ctx)
		return err
	}}}, a.ways()...)
	rounds := max(1, b.rounds/4)
	progress("questions: %d rounds", rounds)
	times := make([][]time.Duration, len(all))
	for round := range b.warmUp + rounds {
		for i, q := range all {
			if err := idleFor(ctx, q.gap); err != nil {
				return err
			}
			version, err := a.write(ctx)
			if err != nil {
				return err
			}
			begun := time.Now()
			if err := q.ask(ctx, version); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			if round >= b.warmUp {
				times[i] = append(times[i], time.Since(begun))
			}
		}
	}
	for i, q := range all[1:] {
		b.section.against(q.name+", median", "ms", milliseconds(quantile(times[0], 0.5)),
			milliseconds(quantile(times[i+1], 0.5)))
	}
	return nil
}

// asker asks for the records of one release, and writes to something else in its namespace.
type asker struct {
	kube    *client
	secrets metadata.ResourceInterface
	marks   typedcorev1.SecretInterface
	in      types.NamespacedName
	record  string // the name of the only one
	count   int    // of writes

	shown  chan string // the marks that the watch shows
	failed chan error
}

const (
	askedObject   = "asked" // a ConfigMap that is written to, and the Secret for marks
	markOfTheTest = "bench/mark"
)

// newAsker makes a release and what is written to. A watch of the Secrets begins, which ends with ctx.
func (b *bench) newAsker(ctx context.Context) (*asker, error) {
	w, err := b.world(ctx, "questions", 1, 2)
	if err != nil {
		return nil, err
	}
	config := b.cluster.RESTConfig()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	marks, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for marks: %w", err)
	}
	in := w.releases[0]
	a := &asker{
		kube: b.tamper, in: in, secrets: client.Resource(
			corev1.SchemeGroupVersion.WithResource("secrets"),
		).Namespace(in.Namespace),
		marks: marks.CoreV1().Secrets(in.Namespace), shown: make(chan string, 1), failed: make(chan error, 1),
	}
	own := metav1.ObjectMeta{Name: askedObject}
	if _, err := a.kube.kube.CoreV1().ConfigMaps(in.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: own},
		metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create a ConfigMap: %w", err)
	}
	if _, err := a.kube.kube.CoreV1().Secrets(in.Namespace).Create(ctx, &corev1.Secret{ObjectMeta: own},
		metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("create a Secret: %w", err)
	}
	records, err := a.secrets.List(ctx, a.records())
	if err != nil || len(records.Items) != 1 {
		return nil, fmt.Errorf("a new release has a record: %v, %w", records, err)
	}
	a.record = records.Items[0].Name
	all := source{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return a.secrets.List(ctx, o)
		},
		watch: a.secrets.Watch,
	}
	return a, follow(ctx, all, a.take, func(err error) { a.failed <- err })
}

func (a *asker) records() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: release.Selector(a.in.Name), FieldSelector: "type=" + release.SecretType}
}

func (a *asker) take(event apiwatch.Event) {
	if m, err := meta.Accessor(event.Object); err == nil && m.GetName() == askedObject {
		if mark := m.GetAnnotations()[markOfTheTest]; mark != "" {
			a.shown <- mark
		}
	}
}

// write changes the ConfigMap and returns the version that it got.
func (a *asker) write(ctx context.Context) (version string, err error) {
	a.count++
	body := fmt.Appendf(nil, `{"data":{"count":"%d"}}`, a.count)
	written, err := a.kube.kube.CoreV1().ConfigMaps(a.in.Namespace).Patch(ctx, askedObject, types.MergePatchType, body,
		metav1.PatchOptions{})
	if err != nil {
		return "", fmt.Errorf("write: %w", err)
	}
	return written.ResourceVersion, nil
}

// ways returns the ways to ask.
func (a *asker) ways() []question {
	list := func(ctx context.Context, version string, match metav1.ResourceVersionMatch) error {
		o := a.records()
		o.ResourceVersion, o.ResourceVersionMatch = version, match
		_, err := a.secrets.List(ctx, o)
		return err
	}
	consistent := func(ctx context.Context, _ string) error { return list(ctx, "", "") }
	return []question{
		{"consistent list", alone, consistent},
		{"consistent list right after another one", 0, consistent},
		{"mark, until the watch shows it", alone, a.mark},
		{"GET of one record", alone, func(ctx context.Context, _ string) error {
			_, err := a.secrets.Get(ctx, a.record, metav1.GetOptions{})
			return err
		}},
		{"list not older than the write", alone, func(ctx context.Context, version string) error {
			return list(ctx, version, metav1.ResourceVersionMatchNotOlderThan)
		}},
		{"list of any age", alone, func(ctx context.Context, _ string) error { return list(ctx, "0", "") }},
	}
}

// mark writes a mark as the operator does, and waits until the watch shows it, perhaps before the answer comes.
func (a *asker) mark(ctx context.Context, _ string) error {
	a.count++
	mark := strconv.Itoa(a.count)
	answered := make(chan error, 1)
	go func() {
		_, err := a.marks.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Name: askedObject, Annotations: map[string]string{markOfTheTest: mark},
			ManagedFields: []metav1.ManagedFieldsEntry{{}},
		}}, metav1.UpdateOptions{})
		answered <- err
	}()
	for {
		select {
		case shown := <-a.shown:
			if shown == mark {
				return nil
			}
		case err := <-answered:
			if err != nil {
				return fmt.Errorf("write a mark: %w", err)
			}
			answered = nil
		case err := <-a.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
