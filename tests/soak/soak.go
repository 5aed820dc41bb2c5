package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const operatorNamespace = "cattle-helm-system"

// releasePrefix is what the names of all releases and of their objects begin with.
const releasePrefix = "soak-"

var helmReleases = schema.GroupVersionResource{Group: "helm.cattle.io", Version: "v1alpha1", Resource: "helmreleases"}

// Pace of the load. The machine is to be busy, not the test to be a race for the processor.
const (
	helmsAtOnce    = 2
	helmPause      = 500 * time.Millisecond
	tamperPause    = 150 * time.Millisecond
	failurePause   = time.Second
	watchDog       = 500 * time.Millisecond
	shortLease     = 4 * time.Second // of runs that are over before the default would run out a few times
	longLease      = 15 * time.Second
	longRunAtLeast = 10 * time.Minute
)

// buildTime is how long it may take to build programs and to start the first time.
const buildTime = 20 * time.Minute

// soakRun is one run.
type soakRun struct {
	options
	report  *report
	log     io.Writer
	client  dynamic.Interface
	kube    kubernetes.Interface
	journal journal
	// What proofs have read in the journal, which is long in a long run: who created objects that no manifest
	// declares, and how Helm left others, by uid and version.
	creators  map[types.UID]string
	left      map[string]map[string]any
	proxy     *cluster.Proxy
	operator  *supervisor
	failures  *failures
	tamperer  *tamperer
	histories *histories
	releases  []*helmRelease
	metrics   string
}

// soak makes one run and fills the report.
func soak(ctx context.Context, o options, r *report, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "helm-locker-soak-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &soakRun{options: o, report: r, log: log, creators: map[types.UID]string{}, left: map[string]map[string]any{}}
	s.journal.path = filepath.Join(dir, "audit.log")
	if o.audit != "" {
		// The API server has a working directory of its own.
		if s.journal.path, err = filepath.Abs(o.audit); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
	}
	control, err := s.journal.options(dir, log)
	if err != nil {
		return err
	}
	var c *cluster.Cluster
	err = within(ctx, buildTime, "the start of the control plane", func(ctx context.Context) error {
		c, err = cluster.Start(ctx, control)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	ctx, cancel := context.WithCancel(ctx)
	background, backgroundCtx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		if waitErr := background.Wait(); !errors.Is(waitErr, context.Canceled) {
			err = errors.Join(err, waitErr)
		}
	}()
	var closeLog func() error
	err = within(ctx, buildTime, "the first installation", func(ctx context.Context) error {
		closeLog, err = s.prepare(ctx, c, dir)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		err = errors.Join(err, s.operator.stop(), closeLog())
	}()
	for _, gvr := range resources() {
		background.Go(func() error {
			return s.histories.follow(backgroundCtx, gvr,
				func(ctx context.Context) error { return wait(ctx, 100*time.Millisecond) })
		})
	}
	if err := s.operator.ensure(ctx); err != nil {
		return err
	}
	background.Go(func() error {
		for wait(backgroundCtx, watchDog) == nil {
			if err := s.operator.ensure(backgroundCtx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.lockAll(ctx); err != nil {
		return err
	}
	if err := s.rounds(ctx); err != nil {
		return err
	}
	violations, judged := s.histories.reverted()
	for _, v := range violations {
		r.fail("a write of Helm's was reverted: %v%s", v, s.past(v))
	}
	if judged == 0 {
		r.fail("not one write of the operator to an object of Helm's was seen: the load was none")
	}
	for range judged {
		r.count("operator: writes that were compared with what Helm had written")
	}
	r.judgeGrowth()
	return nil
}

// rounds alternates between load and proof. Processes of the operator are only killed in the first half: the second
// shows what grows in one that lives on.
func (s *soakRun) rounds(ctx context.Context) error {
	for spent := time.Duration(0); spent < s.duration; spent += s.round {
		fmt.Fprintf(s.log, "%s load, %s of %s done\n", time.Now().Format("15:04:05"), spent, s.duration)
		if err := s.load(ctx, min(s.round, s.duration-spent), 2*spent < s.duration); err != nil {
			return err
		}
		fmt.Fprintf(s.log, "%s proof\n", time.Now().Format("15:04:05"))
		if err := s.prove(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load does everything at once for a time.
func (s *soakRun) load(ctx context.Context, d time.Duration, deadly bool) error {
	loading, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	group := errgroup.Group{}
	repeat := func(pause time.Duration, do func() error) {
		group.Go(func() error {
			var err error
			for err == nil && loading.Err() == nil {
				if err = do(); err == nil {
					err = wait(loading, pause)
				}
			}
			if loading.Err() == nil {
				return err
			}
			return nil // what the end of the load broke off
		})
	}
	for _, r := range s.releases {
		// A Helm command that has begun is let end: what it leaves when it is killed is nothing that a lock can mend.
		repeat(helmPause, func() error { return r.work(ctx) })
	}
	repeat(tamperPause, func() error { s.tamperer.once(loading); return nil })
	repeat(failurePause, func() error { return s.failures.once(loading, deadly) })
	return group.Wait()
}

// prepare makes the clients, the proxy, the operator and the releases; nothing runs yet.
func (s *soakRun) prepare(ctx context.Context, c *cluster.Cluster, dir string) (closeLog func() error, err error) {
	if s.client, err = dynamic.NewForConfig(c.RESTConfig()); err != nil {
		return nil, err
	}
	if s.kube, err = kubernetes.NewForConfig(c.RESTConfig()); err != nil {
		return nil, err
	}
	if err := crd.Create(ctx, c.RESTConfig()); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}
	if _, err := s.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if s.proxy, err = c.StartProxy(); err != nil {
		return nil, err
	}
	s.histories = &histories{client: s.client, states: map[objectKey][]state{}, operator: map[uint64]string{}}
	s.histories.attribute(s.proxy)
	program, err := s.program(ctx, c, dir)
	if err != nil {
		return nil, err
	}
	s.operator = &supervisor{report: s.report, program: program}
	s.tamperer = &tamperer{client: s.client, random: s.source(1), report: s.report,
		declared: map[string][]*unstructured.Unstructured{}}
	s.failures = &failures{cluster: c, proxy: s.proxy, operator: s.operator, report: s.report, random: s.source(2)}
	return program.Log.Close, s.install(ctx, c, dir)
}

// source returns random numbers that depend on the seed and on what they are for.
func (s *soakRun) source(what int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(what))) }

func (s *soakRun) program(ctx context.Context, c *cluster.Cluster, dir string) (p *process.Operator, err error) {
	path := s.options.operator
	if path == "" {
		fmt.Fprintln(s.log, "building the operator")
		if path, err = process.Build(ctx, dir); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := c.KubeconfigFor("operator", s.proxy.RESTConfig())
	if err != nil {
		return nil, err
	}
	if s.metrics, err = process.FreeAddress(); err != nil {
		return nil, err
	}
	name := s.options.log
	if name == "" {
		name = filepath.Join(dir, "operator.log")
	}
	log, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("log of the operator: %w", err)
	}
	lease := shortLease
	if s.duration >= longRunAtLeast {
		lease = longLease
	}
	return &process.Operator{Path: path, Kubeconfig: kubeconfig, Namespace: operatorNamespace, Log: log,
		Metrics: s.metrics, Args: []string{"--lease-duration", lease.String()}}, nil
}

// install makes the releases, by Helm 3 and 4 by turns.
func (s *soakRun) install(ctx context.Context, c *cluster.Cluster, dir string) error {
	marks, turn := &atomic.Int64{}, make(chan struct{}, helmsAtOnce)
	group := errgroup.Group{}
	for i := range s.options.releases {
		r := &helmRelease{name: releasePrefix + strconv.Itoa(i), helm: c.Helm3(), client: s.client,
			random: s.source(100 + i), marks: marks, report: s.report, log: s.log, turn: turn}
		if i%2 == 1 {
			// What somebody tampers with between the last revert and Helm's apply is a conflict otherwise.
			r.helm, r.flags = c.Helm4(), []string{"--force-conflicts"}
		}
		r.namespace = r.name
		var err error
		if r.chart, err = writeChart(filepath.Join(dir, r.name), "soak"); err != nil {
			return err
		}
		s.releases = append(s.releases, r)
		group.Go(func() error { return r.install(ctx) })
	}
	return group.Wait()
}

// lockAll creates the HelmReleases and waits until all is as it should be, for the first time.
func (s *soakRun) lockAll(ctx context.Context) error {
	if err := within(ctx, lookTime, "the creation of the HelmReleases", s.createHelmReleases); err != nil {
		return err
	}
	return s.prove(ctx)
}

func (s *soakRun) createHelmReleases(ctx context.Context) error {
	for _, r := range s.releases {
		hr := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "helm.cattle.io/v1alpha1", "kind": "HelmRelease",
			"metadata": map[string]any{"name": r.name, "namespace": operatorNamespace},
			"spec":     map[string]any{"release": map[string]any{"name": r.name, "namespace": r.namespace}},
		}}
		if _, err := s.client.Resource(helmReleases).Namespace(operatorNamespace).Create(ctx, hr,
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
