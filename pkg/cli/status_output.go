package cli

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// printStatus prints the HelmReleases of all contexts.
func (a *app) printStatus(all []located[statusRead], format string, cmd *cli.Command) error {
	var found []*v1alpha1.HelmRelease
	in, paused := contextMap{}, pausedDrifts{}
	for _, l := range all {
		if l.read == nil {
			continue
		}
		slices.SortFunc(l.read.found, order(cmd.String("sort-by")))
		for _, hr := range l.read.found {
			in.add(hr, l.Name)
		}
		found = append(found, l.read.found...)
		maps.Copy(paused, l.read.paused)
	}
	if first := firstBy(cmd.String("sort-by")); isLocated(all) && first != nil {
		slices.SortStableFunc(found, first)
	}
	options := a.tableOptions(cmd, in)
	options.paused = paused
	text, err := "", error(nil)
	switch {
	case format == formatJSON || format == formatYAML:
		out := make([]statusOut, 0, len(found))
		for _, hr := range found {
			of := statusOf(hr, a.now())
			of.Context = in[hr]
			if d, known := paused[hr]; known {
				of.WouldBeReverted = &d.reverts
			}
			out = append(out, of)
		}
		text, err = encodeList(kindLocks, out, contextsOf(all), format)
	case format == formatName:
		for _, hr := range found {
			text += in.before(hr, changed{hr: hr}.named()) + "\n"
		}
	case len(found) == 0: // a note has said so
	case cmd.Args().Present():
		parts := make([]string, len(found))
		for i, hr := range found {
			parts[i] = statusDetails(hr, options)
		}
		text = strings.Join(parts, "\n")
	default:
		text = statusTable(found, options)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, text)
	return err
}

// tableOptions returns how the flags want a table of objects in these contexts.
func (a *app) tableOptions(cmd *cli.Command, in contextMap) tableOptions {
	return tableOptions{contexts: in, namespaces: cmd.Bool("all-namespaces"), wide: cmd.String("output") == formatWide,
		now: a.now(), style: a.style(cmd), width: a.width(), rowsAlone: cmd.Bool("no-headers")}
}

// contextMap has the contexts of objects; it is empty for a command with one cluster.
type contextMap map[metav1.Object]string

func (in contextMap) add(object metav1.Object, context string) {
	if context != "" {
		in[object] = context
	}
}

// before returns a text about an object, with the context and a space before it if there is one.
func (in contextMap) before(object metav1.Object, text string) string {
	return strings.TrimPrefix(in[object]+" "+text, " ")
}

// column returns the cells of a row, with the context as the first one if there are any.
func (in contextMap) column(first string, cells []string) []string {
	if len(in) == 0 {
		return cells
	}
	return append([]string{first}, cells...)
}

// noteEmpty prints that there is no HelmRelease in a namespace for a query; in all when it is empty.
func (a *app) noteEmpty(namespace string, query statusQuery) {
	switch where := inNamespace(namespace); {
	case query.state != "" || query.policy != "":
		a.note("no HelmRelease%s fits", where)
	case query.namespace != "":
		a.note("no release in namespace %s is locked: no HelmRelease%s is for one; %s lock RELEASE -n %s makes one",
			query.namespace, where, a.name, query.namespace)
	default:
		a.note("no release is locked: there is no HelmRelease%s; %s lock RELEASE -n NAMESPACE makes one", where, a.name)
	}
}
