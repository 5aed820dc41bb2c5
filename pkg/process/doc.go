// Package process has the parts that each process of helm-locker is built of: the connection to the API server, the
// election of a leader, the log, the recorder of events, the caches of this module's kinds and the HTTP listeners.
package process
