package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// printStatus prints the HelmReleases of all contexts.
func printStatus(a *action, all []located[statusRead], format string) error {
	var found []*v1alpha1.HelmRelease
	in, paused := contextMap{}, pausedDrifts{}
	for _, l := range all {
		if l.read == nil {
			continue
		}
		slices.SortFunc(l.read.found, order(a.cmd.String("sort-by")))
		for _, hr := range l.read.found {
			in.add(hr, l.Name)
		}
		found = append(found, l.read.found...)
		maps.Copy(paused, l.read.paused)
	}
	if first := firstBy(a.cmd.String("sort-by")); isLocated(all) && first != nil {
		slices.SortStableFunc(found, first)
	}
	options := tableOptionsOf(a, in)
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
	case a.cmd.Args().Present():
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
	return a.write(text)
}

// statusRead is what status read in one cluster.
type statusRead struct {
	query statusQuery
	found []*v1alpha1.HelmRelease
	// paused has the drift of the suspended ones among them.
	paused pausedDrifts
	// notes are printed after the HelmReleases.
	notes bytes.Buffer
}
