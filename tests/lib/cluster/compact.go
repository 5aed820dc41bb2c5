package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// CompactEtcd removes from etcd all revisions before the current one, as the API server does every five minutes.
func (c *Cluster) CompactEtcd(ctx context.Context) error {
	client, url, err := c.etcdClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var found struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	etcd := etcdGateway{client, url}
	answer, err := etcd.post(ctx, "/v3/kv/range", map[string]any{"key": "AA==", "count_only": true})
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewDecoder(answer.Body).Decode(&found), answer.Body.Close()); err != nil {
		return fmt.Errorf("ask etcd for its revision: %w", err)
	}
	answer, err = etcd.post(ctx, "/v3/kv/compaction", map[string]any{"revision": found.Header.Revision, "physical": true})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// etcdGateway is etcd's JSON gateway (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/).
type etcdGateway struct {
	client *http.Client
	url    string
}

// post returns the answer to a request.
func (g etcdGateway) post(ctx context.Context, path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode a request for etcd: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request for etcd: %w", err)
	}
	response, err := g.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("etcd: %s: %s", path, response.Status), response.Body.Close())
	}
	return response, nil
}
