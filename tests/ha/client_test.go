package ha

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// many is how many objects drift at once in these tests.
const many = 60

// manyLocked locks a release of many ConfigMaps, and returns a function that makes all of them drift and waits until
// all are restored.
func manyLocked(e *kit.Env, name string) (drift func()) {
	e.Helper()
	manifest := ""
	for i := range many {
		manifest += kit.ConfigMap(fmt.Sprintf("%s-%d", name, i), "declared")
	}
	e.Forged(name, manifest)
	return func() {
		e.Helper()
		for i := range many {
			e.Patch(kit.ConfigMaps, fmt.Sprintf("%s-%d", name, i), `{"data":{"key":"tampered"}}`)
		}
		for i := range many {
			e.WaitField(kit.ConfigMaps, fmt.Sprintf("%s-%d", name, i), "data.key", "declared")
		}
	}
}

// The operator's user has one share of an API server with its default limits, a few requests at a time; the rest is
// refused with 429. A storm of drifts is reverted, and the leader keeps leading.
func TestHA_OneShareOfTheAPIServer(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	server, err := kit.Shared.AddAPIServer(t.Context(), kit.Shared.EtcdAddress(), "--max-requests-inflight=400",
		"--max-mutating-requests-inflight=200")
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, server.Kill()) })
	level := oneShare(e, e.Operator)
	proxy := e.NewProxyTo(server.Address())
	config, err := kit.Shared.UserConfig(e.Operator, cluster.OperatorsGroup)
	check.NoError(t, err)
	config = proxy.Via(config)
	client, err := rest.HTTPClientFor(config)
	check.NoError(t, err)
	isOfLevel := func(r *http.Response) bool {
		return r.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID) == level
	}
	e.Eventually("the API server knows of the priority level", func() error {
		answer, err := client.Get(config.Host + "/version")
		if err != nil {
			return err
		}
		if !isOfLevel(answer) {
			err = errors.New("a request is of another one")
		}
		return errors.Join(err, answer.Body.Close())
	})
	var refused, others atomic.Int32
	proxy.Intercept(func(*http.Request) cluster.Action {
		return cluster.Action{After: func(r *http.Response) error {
			if r.StatusCode == http.StatusTooManyRequests {
				refused.Add(1)
			}
			if !isOfLevel(r) {
				others.Add(1)
			}
			return nil
		}}
	})
	kit.StartOperator(t, config, e.Operator, elected(0)) // the default: 15 seconds
	drift := manyLocked(e, "app")
	before := lease(e, e.Operator)
	for range 3 {
		drift()
	}
	after := lease(e, e.Operator)
	check.Equal(t, *before.Spec.LeaseTransitions, *after.Spec.LeaseTransitions, "the leader changed")
	e.WaitReady("app", 1)
	check.That(t, refused.Load() != 0 && others.Load() <= 0, "%d requests were refused, %d were of another priority level",
		refused.Load(), others.Load())
	t.Logf("%d requests, of which %d were refused", len(proxy.Requests()), refused.Load())
}

// oneShare gives a user all rights, and a separate priority level with one share that neither lends nor borrows. It
// returns the UID of the level.
func oneShare(e *kit.Env, user string) string {
	e.Helper()
	e.Bind("", user, "ClusterRole/cluster-admin", kit.User(user))
	one, none := int32(1), int32(0)
	level, err := e.Kube.FlowcontrolV1().PriorityLevelConfigurations().Create(e.Ctx,
		&flowcontrolv1.PriorityLevelConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
				Type: flowcontrolv1.PriorityLevelEnablementLimited,
				Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
					NominalConcurrencyShares: &one, LendablePercent: &none, BorrowingLimitPercent: &none,
					LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
				},
			},
		}, metav1.CreateOptions{})
	check.NoError(e, err)
	all := []string{"*"}
	_, err = e.Kube.FlowcontrolV1().FlowSchemas().Create(e.Ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: user},
			MatchingPrecedence:         100,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser,
					User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all,
					ClusterScope: true, Namespaces: all}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
			}},
		},
	}, metav1.CreateOptions{})
	check.NoError(e, err)
	return string(level.UID)
}

// Of the operator's requests 30 in 100 fail, each in one of three ways: an error, a connection that breaks before the
// API server has received the request, and one that breaks after it has executed it.
func TestHA_ManyRequestsFail(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	proxy := e.NewProxy()
	e.Patience = 5 * time.Minute // each request that fails is repeated later, and there are thousands
	failed := failSome(proxy, 0.3)
	kit.StartOperator(e, proxy.RESTConfig(), e.Operator, elected(0)) // the default: 15 seconds
	e.Upgraded(*upgrades, true)
	elsewhere := e.At(e.Namespace(e.Apps + "-elsewhere"))
	manyLocked(elsewhere, "many")()
	old := elsewhere.Get(kit.ConfigMaps, "many-0").GetUID()
	elsewhere.Delete(kit.ConfigMaps, "many-0")
	elsewhere.WaitNewObject(kit.ConfigMaps, "many-0", old)
	t.Logf("%d of %d requests failed", failed.Load(), len(proxy.Requests()))
}

// failSome has a share of the requests through a proxy fail, and counts them.
func failSome(proxy *cluster.Proxy, share float64) *atomic.Int32 {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(*seed, 1))
	actions := []cluster.Action{cluster.Drop(), cluster.DropAnswer(),
		cluster.Fail(http.StatusInternalServerError, "on purpose")}
	failed := &atomic.Int32{}
	proxy.Intercept(func(*http.Request) cluster.Action {
		mu.Lock()
		defer mu.Unlock()
		if random.Float64() >= share {
			return cluster.Forward()
		}
		failed.Add(1)
		return actions[random.IntN(len(actions))]
	})
	return failed
}

// A validating webhook takes 5 seconds for each Service, as long as the operator's timeout before a retry. Services
// drift all the time; other releases, of the same namespace and of others, are restored meanwhile. If each of their
// reverts waited for one of a Service, the webhook would have been called for as many.
func TestHA_SlowWebhookOnOneKind(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	kit.StartOperator(t, e.OperatorConfig(), e.Operator, elected(0)) // the default: 15 seconds
	const slow, others = 4, 20
	manifest := ""
	for i := range slow {
		manifest += fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: slow-%d}\n"+
			"spec:\n  selector: {app: declared}\n  ports: [{port: 80}]\n", i)
	}
	e.Forged("slow", manifest)
	locked(e, "near")
	elsewhere := e.At(e.Namespace(e.Apps + "-elsewhere"))
	locked(elsewhere, "far")
	asked := slowServices(e, 5*time.Second)

	for i := range slow {
		e.Patch(kit.Services, fmt.Sprintf("slow-%d", i), `{"spec":{"selector":{"app":"tampered"}}}`)
	}
	e.Until("the webhook is asked about all of them", func() (any, bool) { return asked.Load(), asked.Load() >= slow })
	for i := range others {
		reverts(e, "near", fmt.Sprintf("tampered %d", i))
		reverts(elsewhere, "far", fmt.Sprintf("tampered %d", i))
		for k := range slow { // those that were restored drift again
			e.Patch(kit.Services, fmt.Sprintf("slow-%d", k), `{"spec":{"selector":{"app":"tampered"}}}`)
		}
	}
	n := asked.Load() - slow
	t.Logf("%d reverts of others while the webhook was asked again %d times", 2*others, n)
	check.That(t, n < slow*others, "the webhook was asked %d times again, want less than once for each of %d reverts", n,
		others)
	for i := range slow {
		e.WaitField(kit.Services, fmt.Sprintf("slow-%d", i), "spec.selector.app", "declared")
	}
	e.WaitReady("slow", 1)
}

// slowServices registers a slow webhook for all updates of Services in Apps except those of tamperers. It counts the
// calls.
func slowServices(e *kit.Env, takes time.Duration) (asked *atomic.Int32) {
	e.Helper()
	asked = &atomic.Int32{}
	server := e.ServeTLS(func(body []byte) any {
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			return nil
		}
		if !strings.Contains(string(review.Request.Options.Raw), kit.Tamperer) {
			asked.Add(1)
			select {
			case <-time.After(takes):
			case <-e.Ctx.Done(): // the test ends
			}
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		return review
	})
	e.ValidatingWebhook(admissionregistrationv1.Update, "services", admissionregistrationv1.WebhookClientConfig{
		URL: &server.URL, CABundle: kit.CertificateOf(server)})
	return asked
}
