//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// moved is the second address of the API server in the network of the Pods.
const moved = "10.100.0.2"

// MoveAPIServer restarts the API server with another address, as the replacement of its machine does: no packet of a
// Pod reaches the old one any more. The programs of the node use the loopback address, which stays. back moves it back.
func (n *Node) MoveAPIServer(ctx context.Context) (back func(context.Context) error, err error) {
	server, err := url.Parse(n.Cluster.RESTConfig().Host)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	rule := fmt.Sprintf(" INPUT -s %s -d %s -p tcp --dport %s -j DROP", pods, Address, server.Port())
	if err := commands("ip address add "+moved+"/16 dev "+bridge, "iptables -I"+rule); err != nil {
		return nil, err
	}
	if err := n.Cluster.RestartAPIServer(ctx, "--advertise-address="+moved); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(n.Cluster.RestartAPIServer(ctx),
			commands("iptables -D"+rule, "ip address del "+moved+"/16 dev "+bridge))
	}, nil
}
