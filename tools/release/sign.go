package main

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/payload"
)

// The objects of cosign in a registry: an image with a tag from the digest of the signed image. Its layers are payloads
// (signatures) or envelopes (attestations). https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
const (
	simpleSigning       = types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json")
	dsseEnvelope        = types.MediaType("application/vnd.dsse.envelope.v1+json")
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	predicateAnnotation = "predicateType"
)

// signRelease writes signatures of the release in DIR by the holder of the key to DIR/signatures:
//
//	SHA256SUMS.sig           the signature of SHA256SUMS, in base64 (cosign verify-blob)
//	provenance.intoto.jsonl  the origin of every file and the image, in a signed envelope (cosign verify-blob-attestation)
//	image.sig, image.att     signature and provenance of the image, as images to push beside it (cosign verify,
//	                         cosign verify-attestation)
func signRelease(o options, dir string) error {
	if o.key == "" || o.repository == "" {
		return errUsage
	}
	signer, err := signature.LoadSignerFromPEMFile(o.key, crypto.SHA256, func(bool) ([]byte, error) {
		return []byte(os.Getenv("COSIGN_PASSWORD")), nil
	})
	if err != nil {
		return fmt.Errorf("read the private key %s: %w", o.key, err)
	}
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return err
	}
	image, err := imageDigest(dir, o.repository)
	if err != nil {
		return err
	}
	statement, err := provenanceOf(o, string(sums), image)
	if err != nil {
		return err
	}
	out := filepath.Join(dir, signaturesDir)
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	signed, err := signer.SignMessage(bytes.NewReader(sums))
	if err != nil {
		return fmt.Errorf("sign %s: %w", sumsFile, err)
	}
	if err := os.WriteFile(filepath.Join(out, sumsFile+".sig"), encode(signed), 0o644); err != nil {
		return err
	}
	envelope, err := dsse.WrapSigner(signer, inTotoPayload).SignMessage(bytes.NewReader(statement))
	if err != nil {
		return fmt.Errorf("sign the provenance: %w", err)
	}
	if err := os.WriteFile(filepath.Join(out, "provenance.intoto.jsonl"), append(envelope, '\n'), 0o644); err != nil {
		return err
	}
	if err := signImage(signer, image, filepath.Join(out, "image.sig")); err != nil {
		return fmt.Errorf("sign the image: %w", err)
	}
	return writeLayer(filepath.Join(out, "image.att"), static.NewLayer(envelope, dsseEnvelope),
		map[string]string{signatureAnnotation: "", predicateAnnotation: provenanceType})
}

// imageDigest returns the name of a release's image in its repository.
func imageDigest(dir, repository string) (name.Digest, error) {
	index, err := layout.ImageIndexFromPath(filepath.Join(dir, "image"))
	if err != nil {
		return name.Digest{}, fmt.Errorf("read the image: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return name.Digest{}, fmt.Errorf("read the image: %w", err)
	}
	if len(manifest.Manifests) != 1 {
		return name.Digest{}, fmt.Errorf("the image layout has %d images", len(manifest.Manifests))
	}
	return name.NewDigest(repository + "@" + manifest.Manifests[0].Digest.String())
}

func signImage(signer signature.Signer, image name.Digest, out string) error {
	claim, err := payload.Cosign{Image: image}.MarshalJSON()
	if err != nil {
		return err
	}
	signed, err := signer.SignMessage(bytes.NewReader(claim))
	if err != nil {
		return err
	}
	return writeLayer(out, static.NewLayer(claim, simpleSigning),
		map[string]string{signatureAnnotation: string(encode(signed))})
}

// writeLayer writes an image of one layer without a file system as an image layout.
func writeLayer(out string, layer v1.Layer, annotations map[string]string) error {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, Annotations: annotations})
	if err != nil {
		return err
	}
	target, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	return target.AppendImage(image)
}

func encode(signed []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(signed)) }

// files returns the checksums of SHA256SUMS with the names of the files, in its order.
func files(sums string) ([][2]string, error) {
	var found [][2]string
	for line := range strings.Lines(sums) {
		sum, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			return nil, fmt.Errorf("%s: %q is no line of a checksum", sumsFile, line)
		}
		found = append(found, [2]string{sum, file})
	}
	return found, nil
}
