package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

// pointer matches a path of an ignore rule.
var pointer = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)

func checkPaths(ctx context.Context, cmd *cli.Command) error {
	for _, flag := range []string{"ignore", "unignore"} {
		for _, path := range cmd.StringSlice(flag) {
			if !pointer.MatchString(path) {
				return command.Hinted(fmt.Errorf("--%s %q is no JSON pointer", flag, path),
					"begin each segment with a slash, and write ~1 for a slash and ~0 for a tilde in a key: /metadata/annotations/example.com~1hash")
			}
		}
	}
	for _, path := range cmd.StringSlice("unignore") {
		if slices.Contains(cmd.StringSlice("ignore"), path) {
			return command.UsageError(ctx, cmd, fmt.Errorf("--ignore and --unignore of %q exclude each other", path), true)
		}
	}
	return nil
}

// ignoreRules returns ignore rules with the paths of --ignore and without those of --unignore.
func ignoreRules(rules []v1alpha1.IgnoreRule, cmd *cli.Command) []v1alpha1.IgnoreRule {
	var ignore []v1alpha1.IgnoreRule
	back := cmd.StringSlice("unignore")
	for _, rule := range rules {
		if !isPlain(rule) {
			ignore = append(ignore, rule)
			continue
		}
		rule.Paths = slices.DeleteFunc(slices.Clone(rule.Paths),
			func(path string) bool { return slices.Contains(back, path) })
		if len(rule.Paths) > 0 {
			ignore = append(ignore, rule)
		}
	}
	var missing []string
	for _, path := range cmd.StringSlice("ignore") {
		if !ignores(ignore, path) {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		ignore = append(ignore, v1alpha1.IgnoreRule{Paths: missing})
	}
	return ignore
}

// noteUnignored names the paths of --unignore that the rules of an object do not ignore.
func (a *app) noteUnignored(rules []v1alpha1.IgnoreRule, of string, cmd *cli.Command) {
	for _, path := range cmd.StringSlice("unignore") {
		if !ignores(rules, path) {
			a.note("note: %s does not ignore %s", of, path)
		}
	}
}

// isPlain reports whether a rule covers paths of all objects, for every writer, like the rules of --ignore.
func isPlain(rule v1alpha1.IgnoreRule) bool {
	return len(rule.Managers) == 0 && rule.Target == nil && !rule.Deletion
}

// ignores reports whether rules leave a path alone in all objects, for every writer.
func ignores(rules []v1alpha1.IgnoreRule, path string) bool {
	return slices.ContainsFunc(rules, func(rule v1alpha1.IgnoreRule) bool {
		return isPlain(rule) && slices.Contains(rule.Paths, path)
	})
}
