package guard

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// portName is the name of the port of the Service and of its endpoint, which have to be equal.
const portName = "guard"

// leaderHosts returns the names of the leader's Service in the certificate; none without such a Service.
func (k *Keeper) leaderHosts() []string {
	if k.Leader.Service == "" {
		return nil
	}
	return []string{k.Leader.Service + "." + k.Namespace + ".svc"}
}

// service returns the Service for the requests to change objects. It is that of the leader while no release denies: a
// denial must not depend on one replica.
// After an error it is that of all replicas.
func (k *Keeper) service(ctx context.Context, with *certificate, wanted Wanted) (string, error) {
	if k.Leader.Service == "" || wanted.Denies || !with.covers(k.leaderHosts()...) {
		return k.Service, nil
	}
	if err := k.pointToSelf(ctx); err != nil {
		return k.Service, fmt.Errorf("requests go to all replicas, so some reverts name no user: %w", err)
	}
	return k.Leader.Service, nil
}

// pointToSelf makes this replica the only endpoint of the leader's Service.
func (k *Keeper) pointToSelf(ctx context.Context) error {
	have, want := k.slice.Load(), k.endpoint()
	client := k.Client.DiscoveryV1().EndpointSlices(k.Namespace)
	if have == nil {
		service, err := k.Client.CoreV1().Services(k.Namespace).Get(ctx, k.Leader.Service, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read the Service of the leader: %w", err)
		}
		want.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name,
			UID: service.UID}}
		made, err := client.Create(ctx, want, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create the EndpointSlice of the leader: %w", err)
		}
		k.slice.CompareAndSwap(nil, made)
		return nil
	}
	if equality.Semantic.DeepEqual(have.Endpoints, want.Endpoints) &&
		equality.Semantic.DeepEqual(have.Ports, want.Ports) {
		return nil
	}
	changed := have.DeepCopy() // with its resource version: a later leader may have written
	changed.Endpoints, changed.Ports = want.Endpoints, want.Ports
	made, err := client.Update(ctx, changed, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("update the EndpointSlice of the leader: %w", err)
	}
	k.slice.CompareAndSwap(have, made)
	return nil
}

func (k *Keeper) addressType() discoveryv1.AddressType {
	if utilnet.IsIPv6String(k.Leader.IP) {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// endpoint returns the EndpointSlice with this replica.
func (k *Keeper) endpoint() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Leader.Service, Labels: map[string]string{
			discoveryv1.LabelServiceName: k.Leader.Service, discoveryv1.LabelManagedBy: "helm-locker"}},
		AddressType: k.addressType(),
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{k.Leader.IP},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To(portName), Port: ptr.To(k.Leader.Port),
			Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
}
