package kit

import (
	"os"
	"path/filepath"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// helmDiff answers `helm diff upgrade [flags] NAME CHART`. It takes the flags of values and --detailed-exitcode (a
// difference exits with 2), and ignores others.
const helmDiff = `#!/bin/sh
set -eu
shift
values= names= different=0
while [ $# -gt 0 ]; do
	case $1 in
	--values | --set) values="$values $1 $2" && shift ;;
	--detailed-exitcode) different=2 ;;
	--kube-version | --context | --output) shift ;;
	--*) ;;
	*) names="$names $1" ;;
	esac
	shift
done
set -- $names
recorded= upgrade=
if "$HELM_BIN" status "$1" >/dev/null 2>&1; then
	recorded=$("$HELM_BIN" get manifest "$1")
	upgrade=--is-upgrade
fi
rendered=$("$HELM_BIN" template "$1" "$2" $values $upgrade --validate)
"$HELM_BIN" upgrade --install "$1" "$2" $values --dry-run=server >/dev/null
if [ "$recorded" != "$rendered" ]; then
	echo "$1 has changed"
	exit $different
fi
`

// HelmDiff writes the stand-in of Helm's plugin helm-diff, and returns the directory for cluster.Helm's Plugins. The
// module proxy has no module of the plugin. The stand-in makes its requests to Helm and the API server: the manifest
// of the record, the rendered chart, and a server-side dry run.
func (e *Env) HelmDiff() (plugins string) {
	e.Helper()
	plugins = e.TempDir()
	dir := filepath.Join(plugins, "helm-diff")
	check.NoError(e, os.Mkdir(dir, 0o755))
	check.NoError(e, os.WriteFile(filepath.Join(dir, "diff.sh"), []byte(helmDiff), 0o755))
	check.NoError(e, os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(
		"name: diff\nversion: 3.15.13\nusage: diff\ndescription: diff\ncommand: $HELM_PLUGIN_DIR/diff.sh\n"), 0o600))
	return plugins
}
