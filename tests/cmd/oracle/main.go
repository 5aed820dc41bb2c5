// Command oracle judges the recordings of control planes in a directory by the promises: see tests/oracle.
package main

import (
	"fmt"
	"os"

	"github.com/rancher/helm-locker/tests/oracle"
)

func main() {
	violations, err := oracle.Judge(os.Args[len(os.Args)-1], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle DIRECTORY:", err)
	}
	if err != nil || violations > 0 {
		os.Exit(1)
	}
}
