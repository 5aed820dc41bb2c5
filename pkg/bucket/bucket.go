// Package bucket copies files of evidence to a bucket of an S3-compatible server, each once and as a whole. The files
// stay where they are: nothing waits for the server, and the next process copies what this one did not.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/rancher/helm-locker/pkg/evidence"
)

// requestTime bounds a request. A file has 64 MiB and a few lines at most.
const requestTime = 5 * time.Minute

// bucketName is the form of the names that all servers accept.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// Options name a bucket. The key is in the environment variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for a
// temporary one, AWS_SESSION_TOKEN.
type Options struct {
	// Directory has the files.
	Directory string
	// URL is s3://BUCKET or s3://BUCKET/PREFIX.
	URL string
	// Endpoint is the https URL of the server, without a path.
	Endpoint string
	// Region is that of the bucket.
	Region string
	// Cluster is the last part of the prefix: several clusters may share a bucket.
	Cluster string
	// Transport is for all requests.
	Transport http.RoundTripper
}

// store is a prefix in a bucket.
type store struct {
	client         *minio.Client
	bucket, prefix string
}

// newStore returns the store of the options. It connects to no server.
func newStore(o Options) (*store, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "s3" || !bucketName.MatchString(u.Host) || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("bucket %q is none: write s3://BUCKET or s3://BUCKET/PREFIX", o.URL)
	}
	endpoint, err := url.Parse(o.Endpoint)
	if err != nil || endpoint.Scheme != "https" || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" ||
		endpoint.User != nil || endpoint.RawQuery != "" {
		return nil, fmt.Errorf("endpoint %q of the bucket is no https URL of a server", o.Endpoint)
	}
	parts := strings.Split(strings.TrimPrefix(strings.Trim(u.Path, "/")+"/"+o.Cluster, "/"), "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return nil, fmt.Errorf("prefix %q of the bucket has an empty part or dots", strings.Join(parts, "/"))
		}
	}
	if strings.Contains(o.Cluster, "/") {
		return nil, fmt.Errorf("a bucket takes no cluster with a slash in its name: %q", o.Cluster)
	}
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id == "" || secret == "" {
		return nil, errors.New("no key for the bucket: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(id, secret, os.Getenv("AWS_SESSION_TOKEN")),
		Secure: true, Transport: o.Transport, Region: o.Region, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("client of the bucket: %w", err)
	}
	return &store{client: client, bucket: u.Host, prefix: strings.Join(parts, "/") + "/"}, nil
}

// url returns the address of a file.
func (s *store) url(name string) string { return "s3://" + s.bucket + "/" + s.prefix + name }

// list returns the sizes of the files in the store.
func (s *store) list(ctx context.Context) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	sizes := map[string]int64{}
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix}) {
		if object.Err != nil {
			return nil, fmt.Errorf("list %s: %w", s.url(""), cause(object.Err))
		}
		if name := strings.TrimPrefix(object.Key, s.prefix); evidence.Number(name) != "" {
			sizes[name] = object.Size
		}
	}
	return sizes, ctx.Err()
}

// put stores a file of a directory, and returns its size. An object of that name is not replaced.
func (s *store) put(ctx context.Context, dir, name string) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return 0, fmt.Errorf("read the evidence: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return 0, fmt.Errorf("read the evidence: %w", err)
	}
	// One request, so that an object is complete or does not exist. The server compares the digest.
	o := minio.PutObjectOptions{ContentType: "application/x-ndjson", SendContentMd5: true, DisableMultipart: true}
	o.SetMatchETagExcept("*")
	if _, err := s.client.PutObject(ctx, s.bucket, s.prefix+name, file, info.Size(), o); err != nil {
		return 0, fmt.Errorf("store %s: %w", s.url(name), cause(err))
	}
	return info.Size(), nil
}

// cause returns an error of a request with the server's code, and without the URL of the request.
func cause(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	if answer := (minio.ErrorResponse{}); errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", answer.Code, err)
	}
	return err
}
