package bucket

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// server is an S3 server with a bucket "audit", which is a process of its own.
type server struct {
	testing.TB
	dir, address string
	ca           string // file
	transport    *http.Transport
	stop         func()
}

// newServer starts a server.
func newServer(t testing.TB) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the S3 server, which takes a minute to build")
	}
	address, err := process.FreeAddress()
	check.NoError(t, err)
	s := &server{TB: t, dir: t.TempDir(), address: address}
	s.certify()
	s.start()
	check.NoError(t, s.as("root").MakeBucket(t.Context(), "audit", minio.MakeBucketOptions{Region: "us-east-1"}))
	return s
}

// certify stores the certificate of the server: that of Go's test servers, which signs itself.
func (s *server) certify() {
	s.Helper()
	example := httptest.NewTLSServer(nil)
	defer example.Close()
	private, err := x509.MarshalPKCS8PrivateKey(example.TLS.Certificates[0].PrivateKey)
	check.NoError(s, err)
	write := func(name, kind string, content []byte) string {
		path := filepath.Join(s.dir, name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
		check.NoError(s, os.WriteFile(path, text, 0o600))
		return path
	}
	s.ca = write("tls.crt", "CERTIFICATE", example.Certificate().Raw)
	write("tls.key", "PRIVATE KEY", private)
	s.transport, err = trusting(s.ca)
	check.NoError(s, err)
	s.Cleanup(s.transport.CloseIdleConnections)
}

// trusting returns a transport that trusts the authority in a file.
func trusting(ca string) (*http.Transport, error) {
	text, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, nil
}

// start starts the process, again after stop, and waits until it listens.
func (s *server) start() {
	s.Helper()
	var log bytes.Buffer
	ctx, kill := context.WithCancel(context.WithoutCancel(s.Context()))
	cmd := exec.CommandContext(ctx, gateway, "-address", s.address, "-dir", s.dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	_, err := cmd.StdinPipe() // it ends with it
	check.NoError(s, err)
	check.NoError(s, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	s.stop = func() {
		kill()
		<-ended
		s.transport.CloseIdleConnections()
	}
	s.Cleanup(s.stop)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if connection, err := net.Dial("tcp", s.address); err == nil {
			check.NoError(s, connection.Close())
			return
		}
		select {
		case <-ended:
			s.Fatalf("the S3 server has ended: %s", log.String())
		case <-tick.C:
		}
	}
}

// as returns a client of the server.
func (s *server) as(account string) *minio.Client {
	s.Helper()
	client, err := minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(account, account+"-secret", ""),
		Secure: true, Transport: s.transport, Region: "us-east-1"})
	check.NoError(s, err)
	return client
}

// objects returns the objects of the bucket by their keys.
func (s *server) objects() map[string]string {
	s.Helper()
	all, client := map[string]string{}, s.as("root")
	for o := range client.ListObjectsIter(s.Context(), "audit", minio.ListObjectsOptions{Recursive: true}) {
		check.NoError(s, o.Err)
		object, err := client.GetObject(s.Context(), "audit", o.Key, minio.GetObjectOptions{})
		check.NoError(s, err)
		text, err := io.ReadAll(object)
		check.NoError(s, err)
		all[o.Key] = string(text)
	}
	return all
}

// put stores an object.
func (s *server) put(key, text string) {
	s.Helper()
	_, err := s.as("root").PutObject(s.Context(), "audit", key, bytes.NewReader([]byte(text)), int64(len(text)),
		minio.PutObjectOptions{})
	check.NoError(s, err)
}

// download returns a directory with the objects of a prefix.
func (s *server) download(prefix string) string {
	s.Helper()
	dir := s.TempDir()
	for key, text := range s.objects() {
		if filepath.Dir(key) == prefix {
			check.NoError(s, os.WriteFile(filepath.Join(dir, filepath.Base(key)), []byte(text), 0o600))
		}
	}
	return dir
}

// stall returns the address of a way to the server that takes some bytes of each connection, and then none, and a
// channel that is closed when it has taken them.
func (s *server) stall(after int64) (address string, stalled chan struct{}) {
	s.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(s, err)
	s.Cleanup(func() { check.Report(s, listener.Close()) })
	stalled = make(chan struct{})
	var once sync.Once
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", s.address)
			if err != nil {
				_ = in.Close()
				continue
			}
			s.Cleanup(func() { _, _ = in.Close(), out.Close() })
			go func() { _, _ = io.Copy(in, out) }()
			go func() {
				if n, _ := io.CopyN(out, in, after); n == after {
					once.Do(func() { close(stalled) })
				}
			}()
		}
	}()
	return listener.Addr().String(), stalled
}

// build builds the S3 server.
func build(dir string) error {
	gateway = filepath.Join(dir, "gateway")
	cmd := exec.Command("go", "-C", "gateway", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", gateway, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the S3 server: %w\n%s", err, out)
	}
	return nil
}
