package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

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
	config, err := c.OperatorConfig(operatorNamespace)
	if err != nil {
		return nil, err
	}
	s.proxy.As(config)
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

// source returns random numbers derived from the seed and their purpose.
func (s *soakRun) source(what int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(what))) }

func (s *soakRun) program(ctx context.Context, c *cluster.Cluster, dir string) (p *process.Operator, err error) {
	fmt.Fprintln(s.log, "building the operator")
	path, err := process.Build(ctx, dir)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.KubeconfigFor("operator", s.proxy.RESTConfig())
	if err != nil {
		return nil, err
	}
	if s.metrics, err = process.FreeAddress(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "operator.log"))
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
			// Tampering between the last revert and Helm's apply would be a conflict otherwise.
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
		if _, err := s.client.Resource(kit.HelmReleases).Namespace(operatorNamespace).Create(ctx, hr,
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
