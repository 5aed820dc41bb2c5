package release

// Labels are the meaningful labels of a record.
var Labels = [...]string{OwnerLabel, NameLabel, StatusLabel, VersionLabel, CreatedLabel, ModifiedLabel}

// The format of Helm's storage drivers.
const (
	// SecretType is the type of every release Secret. Metadata does not include it: select by it.
	SecretType = "helm.sh/release.v1"
	// NamePrefix begins the name of every record.
	NamePrefix = "sh.helm.release.v1."
	// DataKey is the key of the payload in the data of the Secret or ConfigMap.
	DataKey = "release"

	OwnerLabel    = "owner"
	OwnerHelm     = "helm"
	NameLabel     = "name"
	StatusLabel   = "status"
	VersionLabel  = "version"
	CreatedLabel  = "createdAt"
	ModifiedLabel = "modifiedAt"
)
