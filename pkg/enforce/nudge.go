package enforce

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// NudgeSuffix ends the name of the Secret that the operator writes to in order to be answered sooner; the operator's name
// comes before it.
const NudgeSuffix = "-nudge"

const (
	// cachePatience is for how long after one consistent list of a resource an API server makes the next one wait, if nothing
	// of the resource is written meanwhile. The list is answered from a cache that first has to know that it is as new as
	// etcd, and the API server asks etcd about that at most so often (progressRequestPeriod, 100 ms); some leeway is added.
	cachePatience = 120 * time.Millisecond
	// fewUnderWay is how many checks and writes may be under way for another check to be hurried. With more of them the
	// wait is what collects many drifts behind one check, which costs less than hurrying each.
	fewUnderWay = 3
	// nudgeRest is how long nothing is tried after a nudge that failed.
	nudgeRest = time.Minute
)

// nudger writes to a Secret of the operator's own beside a list of Secrets that would otherwise wait. The write makes the
// API server's cache of Secrets move past the revision that the list waits for: the list is answered after a few
// milliseconds instead of up to a hundred. What the list says is not affected, so a nudge that fails only costs time.
// The zero value never writes.
type nudger struct {
	client metadata.ResourceInterface
	name   string
	log    logrus.FieldLogger
	now    func() time.Time

	mu        sync.Mutex
	lastList  time.Time // when the last list began, of any release
	count     int       // of nudges
	busy      bool
	notBefore time.Time
	warned    bool
}

func newNudger(client metadata.Interface, secret types.NamespacedName, log logrus.FieldLogger) *nudger {
	n := &nudger{name: secret.Name, log: log, now: time.Now}
	if secret.Name != "" {
		n.client = client.Resource(secretsGVR).Namespace(secret.Namespace)
	}
	return n
}

// listing says that a list begins, while so many checks and writes are under way, and nudges the API server if the list
// would have to wait and is worth it.
func (n *nudger) listing(ctx context.Context, underWay int) {
	stamp := n.due(underWay)
	if stamp == "" {
		return
	}
	go func() {
		err := n.write(ctx, stamp)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.busy = false
		if err == nil {
			return
		}
		n.notBefore = n.now().Add(nudgeRest)
		if !n.warned {
			n.log.Warnf("cannot write to Secret %s, so drifts in quick succession are reverted some 0.1 s later than they could be: %v", n.name, err)
		}
		n.warned = true
	}()
}

// due returns what to write, a new text every time; empty when nothing is to be written.
func (n *nudger) due(underWay int) (stamp string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	waits := now.Sub(n.lastList) < cachePatience
	n.lastList = now
	if n.client == nil || !waits || underWay > fewUnderWay || n.busy || now.Before(n.notBefore) {
		return ""
	}
	n.busy = true
	n.count++
	return fmt.Sprintf("%x-%d", now.UnixNano(), n.count)
}

// write changes the Secret, and makes it if there is none.
func (n *nudger) write(ctx context.Context, stamp string) error {
	annotations := fmt.Sprintf(`"annotations":{"helm.cattle.io/purpose":"written to when release records are read in quick succession: it makes the API server answer sooner",`+
		`"helm.cattle.io/nudge":%q}`, stamp)
	options := metav1.PatchOptions{FieldManager: ownManager}
	_, err := n.client.Patch(ctx, n.name, types.MergePatchType, []byte(`{"metadata":{`+annotations+`}}`), options)
	if !apierrors.IsNotFound(err) {
		return err
	}
	force := true
	options.Force = &force
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q,%s}}`, n.name, annotations)
	_, err = n.client.Patch(ctx, n.name, types.ApplyPatchType, []byte(body), options)
	return err
}
