//go:build linux

package release

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// newKey makes a private key, and writes it to a file as `openssl genpkey` would.
func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// signed reports whether a signature in base64 is one of the content by the key of the release.
func signed(t *testing.T, content []byte, signature string) bool {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(signature)
	check.NoError(t, err)
	sum := sha256.Sum256(content)
	return ecdsa.VerifyASN1(&key.PublicKey, sum[:], raw)
}

// TestChecksumsAreSigned verifies the same as `cosign verify-blob --signature`.
func TestChecksumsAreSigned(t *testing.T) {
	need(t)
	content, signature := read(t, "SHA256SUMS"), string(read(t, "signatures/SHA256SUMS.sig"))
	check.That(t, signed(t, content, signature), "the signature is not one of SHA256SUMS")
	content[0] ^= 1
	check.That(t, !signed(t, content, signature), "the signature is one of another file, too")
}

// provenance is the content of the attestation: an in-toto statement with SLSA provenance.
type provenance struct {
	Type          string `json:"_type"`
	PredicateType string
	Subject       []struct {
		Name   string
		Digest map[string]string
	}
	Predicate struct {
		BuildDefinition struct {
			BuildType            string
			ExternalParameters   map[string]string
			ResolvedDependencies []struct {
				URI    string
				Digest map[string]string
			}
		}
		RunDetails struct{ Builder struct{ ID string } }
	}
}

// openEnvelope returns the payload of an envelope, having verified its signature.
// https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
func openEnvelope(t *testing.T, content []byte) []byte {
	t.Helper()
	var envelope struct {
		PayloadType, Payload string
		Signatures           []struct{ Sig string }
	}
	check.NoError(t, json.Unmarshal(content, &envelope))
	payload, err := base64.StdEncoding.DecodeString(envelope.Payload)
	check.NoError(t, err)
	check.Must(t, envelope.PayloadType == "application/vnd.in-toto+json" && len(envelope.Signatures) == 1,
		"the envelope is %s", content)
	encoded := fmt.Sprintf("DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(payload), payload)
	check.That(t, signed(t, []byte(encoded), envelope.Signatures[0].Sig), "the signature is not one of the payload")
	return payload
}

func TestProvenanceIsAttested(t *testing.T) {
	need(t)
	var p provenance
	check.NoError(t, json.Unmarshal(openEnvelope(t, read(t, "signatures/provenance.intoto.jsonl")), &p))
	check.That(t, p.Type == "https://in-toto.io/Statement/v1" && p.PredicateType == "https://slsa.dev/provenance/v1",
		"it is a %s about %s", p.Type, p.PredicateType)
	want := sums(t, string(read(t, "SHA256SUMS")))
	want["index.docker.io/rancher/helm-locker"] = strings.TrimPrefix(imageDigest(t), "sha256:")
	got := map[string]string{}
	for _, subject := range p.Subject {
		got[subject.Name] = subject.Digest["sha256"]
	}
	check.That(t, maps.Equal(got, want), "it is about\n%v\nwant\n%v", got, want)
	definition := p.Predicate.BuildDefinition
	check.That(t,
		maps.Equal(definition.ExternalParameters, map[string]string{"version": version, "commit": commit}) &&
			strings.Contains(definition.BuildType, "docs/release.md#provenance") &&
			strings.HasSuffix(p.Predicate.RunDetails.Builder.ID, "scripts/release"), "it says %+v", p.Predicate)
	source := definition.ResolvedDependencies[0]
	named := ""
	if !strings.HasSuffix(version, "-dirty") {
		named = commit
	}
	check.That(t, source.URI == "git+https://github.com/rancher/helm-locker" && source.Digest["gitCommit"] == named,
		"the source of %s is %+v", version, source)
}

// imageDigest returns the image's digest in a registry after the layout is pushed.
func imageDigest(t *testing.T) string {
	t.Helper()
	var top struct{ Manifests []descriptor }
	check.NoError(t, json.Unmarshal(read(t, "image/index.json"), &top))
	return top.Manifests[0].Digest
}

// onlyLayer returns the layer of an image layout in signatures/, with its annotations.
func onlyLayer(t *testing.T, layout string) (descriptor, []byte) {
	t.Helper()
	blob := func(digest string) []byte {
		t.Helper()
		return read(t, filepath.Join("signatures", layout, "blobs", strings.Replace(digest, ":", "/", 1)))
	}
	var top struct{ Manifests []descriptor }
	check.NoError(t, json.Unmarshal(read(t, filepath.Join("signatures", layout, "index.json")), &top))
	var manifest struct{ Layers []descriptor }
	check.NoError(t, json.Unmarshal(blob(top.Manifests[0].Digest), &manifest))
	check.Must(t, len(top.Manifests) == 1 && len(manifest.Layers) == 1, "%s has %d images, and the first one %d layers",
		layout, len(top.Manifests), len(manifest.Layers))
	return manifest.Layers[0], blob(manifest.Layers[0].Digest)
}

// TestImageIsSigned verifies the same as `cosign verify` and `cosign verify-attestation` beside an image in a
// registry. https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
func TestImageIsSigned(t *testing.T) {
	need(t)
	layer, payload := onlyLayer(t, "image.sig")
	check.Equal(t, layer.MediaType, "application/vnd.dev.cosign.simplesigning.v1+json", "the signature is a")
	check.That(t, signed(t, payload, layer.Annotations["dev.cosignproject.cosign/signature"]),
		"the signature is not one of the payload")
	want := `{"critical":{"identity":{"docker-reference":"index.docker.io/rancher/helm-locker"},` +
		`"image":{"docker-manifest-digest":"` + imageDigest(t) +
		`"},"type":"cosign container image signature"},"optional":null}`
	check.That(t, string(payload) == want, "what is signed is\n%s\nwant\n%s", payload, want)

	layer, envelope := onlyLayer(t, "image.att")
	check.That(t,
		layer.MediaType == "application/vnd.dsse.envelope.v1+json" &&
			layer.Annotations["predicateType"] == "https://slsa.dev/provenance/v1", "the attestation is %+v", layer)
	beside := openEnvelope(t, read(t, "signatures/provenance.intoto.jsonl"))
	check.Equal(t, string(openEnvelope(t, envelope)), string(beside),
		"the provenance of the image is not the one of the files")
}

// TestReleaseIsRefused runs the script for a tag in a repository of its own.
func TestReleaseIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ key, before, says string }{
		"without a key": {says: "RELEASE_KEY names no private key"},
		"of a tree with changes": {key: "release.key", before: "echo >>scripts/release",
			says: "the tree differs from the commit"},
		"without a tag": {key: "release.key", before: "git tag -d v1.2.3",
			says: "no tag v1.2.3 is at this commit"},
		"with another chart image": {key: "release.key", says: "charts/helm-locker/Chart.yaml is not of version 1.2.3"},
		"with another plugin": {key: "release.key", says: "plugin.yaml is not of version 1.2.3",
			before: "sed -i 's/^version: .*/version: 1.2.3/; s/^appVersion: .*/appVersion: v1.2.3/' charts/*/Chart.yaml" +
				"; git commit -qam second; git tag -f v1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := shell(t.Context(), root, nil,
				"cp -r --parents scripts plugin.yaml charts/helm-locker/Chart.yaml "+dir)
			check.NoError(t, err)
			env := []string{"RELEASE_KEY=" + tc.key, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
				"GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
			_, err = shell(t.Context(), dir, env, "git init -q; git add .; git commit -qm first; git tag v1.2.3; "+
				tc.before+"\nscripts/release")
			check.That(t, err != nil && strings.Contains(err.Error(), tc.says), "it ends with %v", err)
			_, err = os.Stat(filepath.Join(dir, "dist"))
			check.That(t, os.IsNotExist(err), "something was made: %v", err)
		})
	}
}
