// Package observability holds the tests of what an operator tells about itself: metrics, the dashboard and alerts
// on them, events and notifications.
package observability
