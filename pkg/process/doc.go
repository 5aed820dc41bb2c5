// Package process has the common parts of helm-locker's processes: the connection to the API server, the election of a
// leader, the log, the recorder of events, the caches of this module's kinds and the HTTP listeners.
package process
