package process

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Recorder returns a recorder of events from a component on a node, and the function that stops it. client-go
// aggregates repeated events and limits floods, by object. After a storm of drift, users would get no event about a
// contended or unlocked release for minutes. So here the limit is by object and reason.
func Recorder(
	client typedcorev1.EventsGetter, component, node string,
) (recorder record.EventRecorder, stop func(), err error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("scheme of events: %w", err)
	}
	spamKey := func(e *corev1.Event) string {
		return string(e.InvolvedObject.UID) + e.InvolvedObject.Kind + e.InvolvedObject.Namespace + "/" +
			e.InvolvedObject.Name + "/" + e.Reason
	}
	broadcaster := record.NewBroadcaster(
		record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: spamKey}))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.Events("")})
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: component, Host: node}),
		broadcaster.Shutdown, nil
}
