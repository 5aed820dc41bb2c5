package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// inTotoPayload is the type of the signed content, and provenanceType the type of its statement.
	// https://github.com/in-toto/attestation/blob/main/spec/v1/envelope.md, https://slsa.dev/spec/v1.0/provenance
	inTotoPayload  = "application/vnd.in-toto+json"
	provenanceType = "https://slsa.dev/provenance/v1"

	source = "https://github.com/rancher/helm-locker"
	// buildType defines the meaning of the parameters; the page describes it.
	buildType = source + "/blob/main/docs/release.md#provenance"
	// builder is the build system: the script on the signer's machine.
	builder = source + "/blob/main/scripts/release"
)

// provenanceOf returns an in-toto statement with SLSA provenance, as JSON: scripts/release made the files in
// SHA256SUMS, and the image, from a commit.
func provenanceOf(o options, sums string, image name.Digest) ([]byte, error) {
	listed, err := files(sums)
	if err != nil {
		return nil, err
	}
	subjects := []*intoto.ResourceDescriptor{{
		Name:   image.Repository.Name(),
		Digest: map[string]string{"sha256": strings.TrimPrefix(image.DigestStr(), "sha256:")},
	}}
	for _, file := range listed {
		subjects = append(subjects, &intoto.ResourceDescriptor{Name: file[1],
			Digest: map[string]string{"sha256": file[0]}})
	}
	predicate, err := predicateOf(o)
	if err != nil {
		return nil, err
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: provenanceType,
		Predicate: predicate}
	if err := statement.Validate(); err != nil {
		return nil, fmt.Errorf("the provenance is not valid: %w", err)
	}
	return compact(protojson.Marshal(statement))
}

// predicateOf describes the build of a release. The version of a dirty tree names no commit as its source.
func predicateOf(o options) (*structpb.Struct, error) {
	parameters, err := structpb.NewStruct(map[string]any{"version": o.version, "commit": o.commit})
	if err != nil {
		return nil, err
	}
	sources := &intoto.ResourceDescriptor{Name: "source", Uri: "git+" + source}
	if !strings.HasSuffix(o.version, "-dirty") {
		sources.Digest = map[string]string{"gitCommit": o.commit}
	}
	p := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType:            buildType,
			ExternalParameters:   parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{sources},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: builder,
			Version: map[string]string{"go": o.goVersion}}},
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("the provenance is not valid: %w", err)
	}
	text, err := protojson.Marshal(p)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	return predicate, protojson.Unmarshal(text, predicate)
}

// compact removes protojson's random spaces.
func compact(text []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	if err := json.Compact(&buffer, text); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
