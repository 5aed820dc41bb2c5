// Command roots prints the certificate authorities of Mozilla's root program as PEM, in the version pinned in go.mod.
// The image has them as its bundle, so that notifications reach public https receivers. The Dockerfile and
// scripts/package both run it.
package main

import (
	"encoding/pem"
	"fmt"
	"io"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "roots:", err)
		os.Exit(1)
	}
}

// write omits authorities with a constraint, such as a last day of issue: PEM has no form for it.
func write(w io.Writer) error {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return nil
}
