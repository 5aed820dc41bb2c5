package release

import (
	"encoding/json"
	"fmt"
)

// DecodeChart returns the chart in a record, as JSON: its metadata, templates, files and values. Helm records no
// sub-charts. Bounds and errors are those of Decode.
func DecodeChart(payload []byte, limit int64) (json.RawMessage, error) {
	r, err := inflate(payload, limit, nil)
	if err != nil {
		return nil, explain(err)
	}
	var chart json.RawMessage
	s := newStream(r, nil)
	err = s.object("release", func(key string) error {
		if key != "chart" {
			return s.skip()
		}
		return s.value(key, &chart)
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, explain(err)
	}
	if len(chart) == 0 || string(chart) == "null" {
		return nil, fmt.Errorf("%w: it has no chart", ErrIncomplete)
	}
	return chart, nil
}
