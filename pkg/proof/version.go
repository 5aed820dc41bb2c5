package proof

import (
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// cachedListsSince is the first version of Kubernetes whose API servers answer consistent lists from their watch
// cache.
var cachedListsSince = version.MustParseGeneric("1.31.0")

// ListsReadStorage reports whether API servers of a version answer a consistent list from etcd: they read and decode
// every object of the resource in the namespace to find those with a label. An unknown version counts as new.
func ListsReadStorage(server *apiversion.Info) bool {
	v, err := version.ParseGeneric(server.GitVersion)
	return err == nil && v.LessThan(cachedListsSince)
}
