// Command vuln runs govulncheck on a module. It fails for a vulnerability that the program can reach, unless an
// exception accepts it, with a reason and until a day. scripts/vulncheck runs it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/vuln/scan"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("vuln", flag.ContinueOnError)
	db := flags.String("db", "https://vuln.go.dev", "URL of the database; file:///DIR for a directory of OSV files")
	dir := flags.String("C", ".", "directory of the module")
	list := flags.String("exceptions", "", "file of exceptions")
	required := flags.Bool(
		"required", false, "fail when the database cannot be reached, instead of saying that nothing was checked",
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	var exceptions []exception
	if *list != "" {
		text, err := os.ReadFile(*list)
		if err != nil {
			return err
		}
		if exceptions, err = parseExceptions(string(text)); err != nil {
			return fmt.Errorf("%s: %w", *list, err)
		}
	}
	if err := reachable(ctx, *db); err != nil {
		if *required {
			return err
		}
		_, err = fmt.Fprintf(out, "vulncheck: SKIPPED, nothing was checked: %v; VULNDB=file:///DIR takes a copy\n", err)
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd := scan.Command(ctx, append([]string{"-C", *dir, "-db", *db, "-format", "json"}, patterns...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := errors.Join(cmd.Start(), cmd.Wait()); err != nil {
		return fmt.Errorf("govulncheck: %w\n%s", err, stderr.String())
	}
	found, about, err := readFindings(&stdout)
	if err != nil {
		return err
	}
	return report(out, found, about, exceptions, today)
}

// patience bounds the wait for the database to answer at all.
const patience = 15 * time.Second

// reachable returns the reason why a database does not answer. A directory is left to govulncheck.
func reachable(ctx context.Context, db string) error {
	if !strings.HasPrefix(db, "http") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, strings.TrimRight(db, "/")+"/index/db.json", nil)
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the database cannot be reached: %w", err)
	}
	if err := answer.Body.Close(); err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the database %s answers %s", db, answer.Status)
	}
	return nil
}
