package cli

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/report"
)

type tableOptions struct {
	contexts         contextMap
	namespaces, wide bool
	now              time.Time
	style            report.Style
	width            int
	// rowsAlone leaves out the titles, and all below the table.
	rowsAlone bool
	// paused are compared by the command.
	paused pausedDrifts
}

// tableOptions returns how the flags want a table of objects in these contexts.
func tableOptionsOf(a *action, in contextMap) tableOptions {
	return tableOptions{contexts: in, namespaces: a.cmd.Bool("all-namespaces"), wide: a.cmd.String("output") == formatWide,
		now: a.now(), style: a.style(), width: a.width(), rowsAlone: a.cmd.Bool("no-headers")}
}

// titleContext is the title of the column with the context, the first one of a table about several clusters.
const titleContext = "CONTEXT"

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

// section returns a table after an empty line; nothing for one without rows.
func section(style report.Style, rows [][]string, titles ...string) string {
	if len(rows) == 0 {
		return ""
	}
	var t report.Table
	t.Add(func(_ int, text string) string { return style.Bold(text) }, titles...)
	for _, row := range rows {
		t.Add(nil, row...)
	}
	return "\n" + t.String(0)
}
