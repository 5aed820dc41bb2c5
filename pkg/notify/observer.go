package notify

// Observer counts the results of messages, once for each receiver. Its methods must return at once.
type Observer interface {
	// Notified counts a message with its final result: sent, skipped, dropped, expired, rejected or missed.
	Notified(result string)
	// NotifyRetried counts a failed attempt before the next one.
	NotifyRetried()
	// NotifyWaiting changes the number of waiting messages.
	NotifyWaiting(change int)
}

// Results of a message, for an Observer.
const (
	ResultSent     = "sent"
	ResultSkipped  = "skipped" // the template made nothing of it, or its severity is too low
	ResultDropped  = "dropped"
	ResultExpired  = "expired"
	ResultRejected = "rejected"
	ResultMissed   = "missed" // the stream had it no more
)
