package lease

import "regexp"

// A leader announces its stream of events in annotations of its Lease: its host and port, and its certificate in PEM
// form.
const (
	EventsAddress     = "helm.cattle.io/events-address"
	EventsCertificate = "helm.cattle.io/events-certificate"
	// EventsPath is the path of the stream. EventsPosition is the header of an answer with the position to resume from.
	EventsPath     = "/events"
	EventsPosition = "Helm-Locker-Position"
	// EventsHost is the name in the certificate, whatever the address.
	EventsHost = "helm-locker-events"
)

var ofShard = regexp.MustCompile("^-[0-9a-f]{8}$")

// OfController reports whether a Lease belongs to a controller name: to the operator for everything, or to one of its
// shards.
func OfController(lease, controller string) bool {
	return lease == controller || len(lease) > len(controller) && lease[:len(controller)] == controller &&
		ofShard.MatchString(lease[len(controller):])
}
