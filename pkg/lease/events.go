package lease

// VersionLabel is the label of a Lease with the version of its holder. A plus sign of the version is an underscore
// there.
const VersionLabel = "app.kubernetes.io/version"

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
