// Package watch owns every watch of the operator and its goroutines: the records of releases, the objects of locked
// releases, and the custom resource definitions. Watches keep no objects; they pass every event to a sink.
package watch
