package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// refName is the annotation with the name of an image in an image layout.
// https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md
const refName = "org.opencontainers.image.ref.name"

// writeImage writes the image of the Dockerfile in a build context to the OCI image layout o.out, and prints the digest
// of its index. It takes binaries instead of the build stage's.
func writeImage(w io.Writer, o options, binaries []string) error {
	if o.context == "" || o.out == "" || len(binaries) == 0 {
		return errUsage
	}
	r, err := readDockerfile(o.context, o.arguments, o.staged)
	if err != nil {
		return err
	}
	platforms, programs, err := programsOf(binaries)
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		if err != nil || platform.Architecture == "" {
			return fmt.Errorf("%q is not OS/ARCH", name)
		}
		image, err := r.image(*platform, programs[name], o.date.Time)
		if err != nil {
			return fmt.Errorf("image for %s: %w", name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: platform}})
	}
	if err := os.RemoveAll(o.out); err != nil {
		return err
	}
	target, err := layout.Write(o.out, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	if err := target.AppendIndex(
		index, layout.WithAnnotations(map[string]string{refName: o.arguments["VERSION"]}),
	); err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, digest)
	return err
}

// programsOf returns the platforms of arguments OS/ARCH:PATH=BINARY, in their order, and the binaries of each by their
// path in the build stage.
func programsOf(arguments []string) (platforms []string, programs map[string]pairs, err error) {
	programs = map[string]pairs{}
	for _, argument := range arguments {
		platform, program, ok := strings.Cut(argument, ":")
		if !ok {
			return nil, nil, fmt.Errorf("%q is not OS/ARCH:PATH=BINARY", argument)
		}
		if programs[platform] == nil {
			platforms, programs[platform] = append(platforms, platform), pairs{}
		}
		if err := programs[platform].Set(program); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", argument, err)
		}
	}
	return platforms, programs, nil
}

// image returns the image for one platform.
func (r *recipe) image(platform v1.Platform, programs pairs, date time.Time) (v1.Image, error) {
	content, err := r.layer(programs, date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser,
		error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	},
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: date}, CreatedBy: "Dockerfile, last stage"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = platform.OS, platform.Architecture,
		platform.Variant, v1.Time{Time: date}
	config.Config = v1.Config{User: r.user, Entrypoint: r.entrypoint, Labels: r.labels, WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}

// layer returns the files as a tar archive: sorted, owned by root, with the release's date and minimal permissions.
func (r *recipe) layer(programs pairs, date time.Time) ([]byte, error) {
	directories := map[string]bool{}
	for name := range r.files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			directories[dir] = true
		}
	}
	names := slices.Sorted(maps.Keys(directories))
	names = append(names, slices.Sorted(maps.Keys(r.files))...)
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	for _, name := range names {
		header := &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: date,
			Format: tar.FormatUSTAR}
		var content []byte
		if from, isFile := r.files[name]; isFile {
			header.Typeflag, header.Name, header.Mode = tar.TypeReg, name, 0o644
			if from.program != "" {
				header.Mode, from.file = 0o755, programs[from.program]
			}
			var err error
			if content, err = os.ReadFile(from.file); err != nil {
				return nil, err
			}
			header.Size = int64(len(content))
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
