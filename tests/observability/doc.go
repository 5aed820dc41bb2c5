// Package observability tests the outputs of an operator: metrics, the dashboard and alerts on them, events and
// notifications.
package observability
