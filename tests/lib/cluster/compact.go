package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// CompactEtcd removes from etcd all revisions before the current one, as the API server does every five minutes. It
// uses etcd's JSON gateway (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/).
func (c *Cluster) CompactEtcd(ctx context.Context) error {
	client, url, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	post := func(path string, in, out any) error {
		body, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a request for etcd: %w", err)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("make a request for etcd: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		err = json.NewDecoder(response.Body).Decode(out)
		if closeErr := response.Body.Close(); err == nil {
			err = closeErr
		}
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %v", response.Status, out)
		}
		return err
	}
	var found struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := post("/v3/kv/range", map[string]any{"key": "AA==", "count_only": true}, &found); err != nil {
		return fmt.Errorf("ask etcd for its revision: %w", err)
	}
	var done map[string]any
	if err := post("/v3/kv/compaction", map[string]any{"revision": found.Header.Revision, "physical": true},
		&done); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	return nil
}
