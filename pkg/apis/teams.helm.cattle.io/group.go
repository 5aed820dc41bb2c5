// Package teams names the API group for the members of a namespace. Its versions are the packages below it.
package teams

// GroupName is the API group of ReleaseLock.
const GroupName = "teams.helm.cattle.io"
