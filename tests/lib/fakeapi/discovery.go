package fakeapi

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Discoveries returns the number of requests for the API groups.
func (s *Server) Discoveries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *Server) discovery(path string) any {
	resources := map[string]*metav1.APIResourceList{}
	for _, k := range s.served() {
		list := resources[prefix(k.GroupVersion())]
		if list == nil {
			list = &metav1.APIResourceList{GroupVersion: k.GroupVersion().String()}
			resources[prefix(k.GroupVersion())] = list
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.Resource, Kind: k.Kind, Namespaced: k.Namespaced,
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "patch", "delete"},
		})
	}
	if path == "/apis" {
		s.mu.Lock()
		s.asked++
		s.mu.Unlock()
	}
	switch path {
	case "/version":
		return map[string]any{"major": "1", "minor": "35", "gitVersion": "v1.35.0"}
	case "/api":
		return metav1.APIVersions{Versions: []string{"v1"}}
	case "/apis":
		groups := metav1.APIGroupList{}
		for _, p := range slices.Sorted(maps.Keys(resources)) {
			named, isGroup := strings.CutPrefix(p, "/apis/")
			if name, version, _ := strings.Cut(named, "/"); isGroup {
				v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version}
				groups.Groups = append(groups.Groups, metav1.APIGroup{
					Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
				})
			}
		}
		return groups
	}
	if list := resources[path]; list != nil {
		return list
	}
	return nil
}
