package controller

import (
	"context"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/admit"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/gather"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/locking"
	"github.com/rancher/helm-locker/pkg/observe"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/proving"
	"github.com/rancher/helm-locker/pkg/prune"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/remediate"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
	"github.com/rancher/helm-locker/pkg/writing"
)

// parts are what several workers use, while a controller is made.
type parts struct {
	*Controller
	clients  Clients
	own      judge.Own
	kinds    *watch.Kinds
	locked   *lock.Kinds
	claims   *claims.Claims
	slots    *shares.Slots
	budget   *shares.Budget
	inputs   *gather.Inputs
	hasher   drift.Hasher
	observer *observe.Observer
	loader   *load.Loader
	reporter *reporting.Reporter
	memory   *settled.Memory
	store    *witness.Store
	trusted  *witness.Trusted
	writer   *writing.Writer
}

// New returns a controller; nothing runs before Run. It registers its handlers on the HelmRelease controller, so call
// it before that controller starts.
func New(ctx context.Context, clients Clients, o Options) (*Controller, error) {
	c := &Controller{
		options: o, leading: &atomic.Bool{}, ledger: ledger.New(), table: lock.NewTable(),
		queues: queues.New(o.Clock, o.Metrics.Queues()), ready: make(chan struct{}), warm: make(chan struct{}),
	}
	c.roster = roster.New(roster.Options{
		HelmReleases: clients.HelmReleases, Dynamic: clients.Dynamic, Namespace: o.Namespace, Name: o.Name,
		Shard: o.Shard, Storages: o.Storages, Queues: c.queues, Clock: o.Clock, Log: o.Log,
	})
	p := &parts{
		Controller: c, clients: clients, kinds: watch.NewKinds(clients.Discovery, o.Clock), locked: &lock.Kinds{},
		own: judge.Own{Namespace: o.Namespace, Name: o.Name, Fence: o.Name + proof.FenceSuffix,
			Guard: o.GuardSecret},
		claims: &claims.Claims{}, slots: shares.NewSlots(), budget: shares.NewBudget(o.Clock),
		inputs: &gather.Inputs{Table: c.table, Clock: o.Clock}, hasher: drift.NewHasher(),
	}
	p.watchCluster()
	if err := p.prepare(); err != nil {
		return nil, err
	}
	p.addWorkers()
	p.answerRequests()
	handler := func(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		c.locker.HelmReleaseChanged(key, hr)
		return hr, nil
	}
	clients.HelmReleases.OnChange(ctx, "helm-locker", handler)
	return c, nil
}

// watchCluster creates the watches, with their events for the workers, and the enforcer with its watch.
func (p *parts) watchCluster() {
	o := p.options
	fence := types.NamespacedName{Namespace: o.Namespace, Name: p.own.Fence}
	p.records = watch.NewReleases(p.clients.WatchMetadata, o.Storages, fence, o.Log, p.recordChanged)
	verifier := proof.New(proof.Options{
		Metadata: p.clients.Metadata, Storages: o.Storages, Fence: fence, Secrets: p.clients.Kubernetes.CoreV1(),
		Records: p.records, ListsReadStorage: p.clients.ListsReadStorage, Log: o.Log,
	})
	p.enforcer = enforce.New(p.kinds.Discovery(), p.clients.Dynamic, p.clients.Accounts, verifier, o.Log)
	p.observer = observe.New(observe.Options{Table: p.table, Ledger: p.ledger, Queues: p.queues, Hasher: p.hasher,
		Clock: o.Clock, Log: o.Log})
	p.objects = watch.NewObjects(p.clients.WatchObjects, p.observer, o.Log)
	p.definitions = watch.NewDefinitions(p.clients.WatchMetadata, o.Log, p.definitionChanged)
	p.scalers = watch.NewAutoscalers(p.clients.WatchDynamic, p.definitions, o.Log, p.rangesChanged)
	p.inputs.Scalers = p.scalers
}

// prepare creates the parts that the workers share.
func (p *parts) prepare() (err error) {
	o := p.options
	p.loader, err = load.New(load.Options{
		Kubernetes: p.clients.Kubernetes, Dynamic: p.clients.Dynamic, Kinds: p.kinds, LockedKinds: p.locked,
		Records: p.records, Ledger: p.ledger, Slots: p.slots, Budget: p.budget, Own: p.own,
		ObjectSetMetadata: o.ObjectSetMetadata, Clock: o.Clock, Log: o.Log,
	})
	if err != nil {
		return err
	}
	p.reporter = reporting.New(reporting.Options{
		Ledger: p.ledger, Queues: p.queues, Roster: p.roster, Leading: p.leading,
		ObjectSetMetadata: o.ObjectSetMetadata, Clock: o.Clock, Log: o.Log, Metrics: o.Metrics, Events: o.Events,
		Notify: o.Notify,
	})
	p.views = &reporting.Views{Ledger: p.ledger, Table: p.table, Objects: p.objects, Clock: o.Clock}
	secrets := p.clients.Kubernetes.CoreV1().Secrets(o.Namespace)
	p.memory = &settled.Memory{Secrets: secrets, Name: p.own.SettledName, Clock: o.Clock, Log: o.Log}
	p.store = &witness.Store{Secrets: secrets, Name: p.own.TrustName, Clock: o.Clock, Log: o.Log}
	p.trusted = &witness.Trusted{Store: p.store, Witnessed: o.Witnessed, Leading: p.leading, Holds: p.enforcer.Holds,
		Records: p.records, Ledger: p.ledger}
	p.writer = &writing.Writer{Enforcer: p.enforcer, Unproven: &lock.Writes{}, Queues: p.queues, Clock: o.Clock,
		Log: o.Log}
	p.others = &claims.Others{Metadata: p.clients.Metadata, Storages: o.Storages,
		Proof:     proof.New(proof.Options{Metadata: p.clients.Metadata, Storages: o.Storages, Log: o.Log}),
		StorageOf: p.ledger.StorageOf, Read: p.loader.Declared, Known: &claims.Declarations{}, Log: o.Log}
	return nil
}

// addWorkers creates the worker of each queue.
func (p *parts) addWorkers() {
	o := p.options
	p.pruner = prune.New(prune.Options{
		Enforcer: p.enforcer, Metadata: p.clients.Metadata, Kinds: p.kinds, Records: p.records, Ledger: p.ledger,
		Table: p.table, Roster: p.roster, Queues: p.queues, Slots: p.slots, Budget: p.budget, Loader: p.loader,
		Views: p.views, Reporter: p.reporter, Writer: p.writer, Trusted: p.trusted, Own: p.own, Leading: p.leading,
		Clock: o.Clock, Log: o.Log, Metrics: o.Metrics,
	})
	p.locker = locking.New(&locking.Options{
		Accounts: p.clients.Accounts, Policy: o.Accounts, HelmReleases: p.clients.HelmReleases,
		Metadata: p.clients.Metadata, Kinds: p.kinds, Records: p.records, Objects: p.objects, Observer: p.observer,
		Ledger: p.ledger, Table: p.table, Claims: p.claims, Roster: p.roster, Queues: p.queues, Slots: p.slots,
		Budget: p.budget, Loader: p.loader, Inputs: p.inputs, Memory: p.memory, Reporter: p.reporter,
		Trusted: p.trusted, Witnessed: o.Witnessed, Leading: p.leading, Untracked: p.pruner.Forget, Clock: o.Clock,
		Log: o.Log,
	})
	p.remediation = remediate.New(&remediate.Options{
		Enforcer: p.enforcer, Metadata: p.clients.Metadata, Kinds: p.kinds, Ledger: p.ledger,
		Table: p.table, Claims: p.claims, Others: p.others, Roster: p.roster, Queues: p.queues, Slots: p.slots,
		Budget: p.budget, Loader: p.loader, Inputs: p.inputs, Memory: p.memory, Reporter: p.reporter,
		Writer: p.writer, Hasher: p.hasher, Leading: p.leading, Clock: o.Clock, Log: o.Log, Metrics: o.Metrics,
	})
	p.prover = &proving.Prover{
		Enforcer: p.enforcer, Records: p.records, Ledger: p.ledger, Table: p.table, Roster: p.roster,
		Queues: p.queues, Slots: p.slots, Budget: p.budget, Loader: p.loader, Inputs: p.inputs,
		Reporter: p.reporter, Writer: p.writer, Trusted: p.trusted, Clock: o.Clock, Log: o.Log,
	}
	p.statuses = &reporting.Statuses{Reporter: p.reporter, Views: p.views, HelmReleases: p.clients.HelmReleases,
		Memory: p.memory, Inputs: p.inputs}
}

// answerRequests creates the answers to the API server's questions about requests.
func (p *parts) answerRequests() {
	o := p.options
	p.admission = admit.New(admit.Options{
		Kinds: p.locked, Inputs: p.inputs, Others: p.others, Metadata: p.clients.Metadata, DryRunner: p.enforcer,
		Spend: p.budget.Spend, StillAsked: p.roster.StillAsked, Denied: p.reporter.Denied, Clock: o.Clock,
		Log: o.Log, Metrics: o.Metrics,
	})
	p.witness = witness.New(witness.Options{
		Kubernetes: p.clients.Kubernetes, Metadata: p.clients.Metadata, Kinds: p.kinds, Reader: p.loader.Reader,
		Store: p.store, Holder: p.locker.Holder, NeverWriters: o.NeverWriters, Clock: o.Clock, Log: o.Log,
		Metrics: o.Metrics,
	})
}
