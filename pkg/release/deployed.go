package release

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeployedAt returns the time of the deployment of a record, in whole seconds by the clock of the API server: the last
// write of the owner of its status label. It is zero for a record with another status, and without managed fields.
func DeployedAt(m metav1.Object) time.Time {
	var at time.Time
	if parseStatus(m.GetLabels()[StatusLabel]) != StatusDeployed {
		return at
	}
	for _, entry := range m.GetManagedFields() {
		var owned struct {
			Metadata struct {
				Labels map[string]any `json:"f:labels"`
			} `json:"f:metadata"`
		}
		if entry.FieldsV1 == nil || entry.Time == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if _, owns := owned.Metadata.Labels["f:"+StatusLabel]; owns && entry.Time.After(at) {
			at = entry.Time.Time
		}
	}
	return at
}
