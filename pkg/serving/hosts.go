package serving

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
)

// ForHosts answers only requests for a host that has no public DNS name of a stranger, or for one of hosts:
// addresses, localhost, names without a dot, *.svc and *.cluster.local. So no web site can read the answers through
// its own name that leads here (DNS rebinding). flag names the option for more hosts.
func ForHosts(hosts []string, flag string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostname(r.Host); !known(host, hosts) {
			message := "not known as " + host + ": ask by address"
			if flag != "" {
				message += ", or name the host with " + flag
			}
			http.Error(w, plain.Line(message), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func known(host string, hosts []string) bool {
	return net.ParseIP(host) != nil || !strings.Contains(host, ".") || strings.HasSuffix(host, ".localhost") ||
		strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local") ||
		slices.ContainsFunc(hosts, func(ours string) bool { return strings.EqualFold(ours, host) })
}
