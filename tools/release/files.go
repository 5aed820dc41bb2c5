package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// sumsFile holds the checksums, and signaturesDir their signatures. The checksums cover neither.
const (
	sumsFile      = "SHA256SUMS"
	signaturesDir = "signatures"
)

// writeSums prints the SHA-256 of every file below a directory in the form of sha256sum, sorted by name.
func writeSums(w io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path == filepath.Join(dir, signaturesDir) {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() || entry.Name() == sumsFile {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		_, err = fmt.Fprintf(w, "%s  %s\n", hex.EncodeToString(sum[:]), filepath.ToSlash(name))
		return err
	})
}

// normalizeChart rewrites a packed chart in place: the same files in order, without an owner, with the given time. Helm
// stamps the time of packing on them.
func normalizeChart(file string, date time.Time) error {
	packed, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	type member struct {
		name    string
		content []byte
	}
	var members []member
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		members = append(members, member{header.Name, content})
	}
	// Chart.yaml stays first, like in Helm's archives, for readers of the metadata alone.
	slices.SortStableFunc(members[1:], func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })

	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	zipped.Comment = "Helm" // as Helm marks its charts
	archive := tar.NewWriter(zipped)
	for _, m := range members {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: m.name, Mode: 0o644, Size: int64(len(m.content)),
			ModTime: date, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(m.content); err != nil {
			return err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return err
	}
	return os.WriteFile(file, buffer.Bytes(), 0o644)
}
