package cli

import (
	"github.com/urfave/cli/v3"
)

// examples are command lines for help texts and the reference, by command, without the program's name. Tests run
// them.
func examples() map[string][]string {
	return map[string][]string{
		"diff": {
			"diff web -n apps",
			"diff web -n apps --strict",
			"diff -A",
			"diff -A -l team=web -o json",
			"diff web -n apps --revision 1",
			"diff -f release.yaml --objects objects.yaml",
		},
		"report": {
			"report",
			"report -n apps -o html --output-file drift.html",
			"report -l team=web -o junit",
			"report -l team=web --all-contexts -o html --output-file clusters.html",
		},
		"evidence": {
			"evidence prod --since 2026-10-01 --until 2026-12-31 -o html --output-file quarter.html",
			"evidence prod staging --since 2026-10-01 -o csv",
			"evidence prod staging --verify",
		},
		"values": {"values web -n apps", "values web -n apps configmap/shop data.color=red"},
		"status": {"status", "status web", "status -A -o wide", "status --state drifted --sort-by since",
			"status --policies", "status --watch", "status --all-contexts"},
		"trace":   {"trace deployment/shop -n apps", "trace configmap shop -n apps -o json"},
		"policy":  {"policy preview -f policy.yaml", "policy preview web -o json"},
		"check":   {"check", "check -n apps -o json"},
		"rbac":    {"rbac web -n apps", "rbac apps/web apps/web -o values", "rbac -A --names -o values"},
		"inspect": {"inspect web -n apps", "inspect web -n apps --values", "inspect web -n apps -o yaml", "inspect -f release.yaml --manifest"},
		"lock": {
			"lock web -n apps --wait",
			"lock web -n apps --scope Strict --ignore /spec/replicas",
			"lock web -n apps --unignore /spec/replicas",
			"lock --all -n apps --mode Detect --dry-run",
			"lock -A -l team=web --dry-run -o yaml",
			"lock web -n apps --mode Detect --dry-run -o yaml",
		},
		"unlock":  {"unlock web -n apps", "unlock --all -n apps", "unlock -A -l team=web"},
		"suspend": {"suspend web -n apps --for 30m --reason \"a hotfix\"", "suspend web -n apps"},
		"accept":  {"accept web -n apps --dry-run", "accept web -n apps --yes --wait", "accept --all -A"},
		"enforce": {"enforce web -n apps --dry-run", "enforce --all -A --yes --wait"},
		"resume":  {"resume web -n apps", "resume --all -n apps"},
		"version": {"version"},
		"migrate": {"migrate web -n apps --dry-run", "migrate web -n apps --yes", "migrate --dry-run"},
	}
}

func examplesOf(cmd *cli.Command) []string { return examples()[cmd.Name] }
