package notify

import (
	"fmt"
	"os"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/severity"
)

// ratings returns the rules for severities.
func (o Options) ratings() (*severity.Table, error) {
	if o.SeveritiesFile == "" {
		return severity.Default()
	}
	text, err := os.ReadFile(o.SeveritiesFile)
	if err != nil {
		return nil, fmt.Errorf("file of severities: %w", err)
	}
	table, err := severity.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.SeveritiesFile, err)
	}
	return table, nil
}

// rate returns the severity of a drift: that of its most severe field. A drift without fields, or with more than are
// listed, is rated as a change of the whole object. Without a drift there is no severity.
func rate(table *severity.Table, drift *v1alpha1.DriftRecord) severity.Level {
	if drift == nil {
		return ""
	}
	paths := drift.Paths
	if len(paths) == 0 || drift.MorePaths > 0 {
		paths = append([]string{""}, paths...)
	}
	var highest severity.Level
	for _, path := range paths {
		level, _ := table.Of(severity.Object{Group: drift.Object.Group, Kind: drift.Object.Kind}, path)
		if !highest.AtLeast(level) {
			highest = level
		}
	}
	return highest
}
