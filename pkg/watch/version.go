package watch

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Version returns the resource version as a number, as Kubernetes defines it since 1.35. It is zero for the few
// aggregated API servers with other versions: their objects are judged in any order.
func Version(obj metav1.Object) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
